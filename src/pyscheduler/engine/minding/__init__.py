"""How MinderLauncher does it: orders and the nursery's socket, looks at files and processes, handles. DESIGN 4."""
