"""A thin, friendly layer on asyncio; see `pynet.loop`."""
