"""WATCH: one small process an attempt, and the nursery that forks it. Both outlive the engine and its upgrades.

The nursery runs these files with nothing else of the package in reach: standard library only, imported before the
first fork, so that replacing the files under a running nursery changes nothing for it. DESIGN 4.
"""
