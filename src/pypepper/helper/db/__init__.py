"""How a program names a database: one address, or host, user, password and name."""
