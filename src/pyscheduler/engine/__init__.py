"""DO: the asyncio shell around the rules. It decides nothing that a rule could have answered."""
