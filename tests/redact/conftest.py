"""Fixtures that the tests of this folder share."""

from tests.supervised import lab

__all__ = ["lab"]
