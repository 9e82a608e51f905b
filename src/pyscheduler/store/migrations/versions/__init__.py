"""The schema's history, one revision a file. A released one is never edited: write the next."""
