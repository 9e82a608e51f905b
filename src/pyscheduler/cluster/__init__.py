"""MANY: one schedule, any number of schedulers on one store. DESIGN 6, claims.md."""
