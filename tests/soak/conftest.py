"""Figures of the soak."""

from tests import figures


def pytest_sessionfinish():
    figures.save()
