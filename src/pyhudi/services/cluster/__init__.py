"""Cluster: write rows anew in another order, into files of another size."""
