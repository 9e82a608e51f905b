"""One seeded script a question, one JSON line out; `make bench` runs them all."""
