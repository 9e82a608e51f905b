"""What `doctor` looks at, one module an area. Each check looks, changes nothing, and says what it found.

A check that cannot find out says so: nothing that is unknown is called ok.
"""
