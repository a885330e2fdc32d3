"""Measures pyhudi beside its peers: `make bench`. Not shipped. Start at `__main__`."""
