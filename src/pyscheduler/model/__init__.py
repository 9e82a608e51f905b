"""THE NOUNS: frozen values that every room speaks of. No verbs, no IO, nothing imported but the standard library."""
