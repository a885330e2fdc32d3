"""Bytes at paths: the only room that touches disk or network."""
