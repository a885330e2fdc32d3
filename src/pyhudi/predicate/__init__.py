"""Expressions over columns: one small SQL grammar, the same on both engines."""

from pyhudi.predicate.model import Expression

__all__ = ["Expression"]
