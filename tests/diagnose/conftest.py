"""Fixtures that the tests of this folder share."""

from __future__ import annotations

from tests.supervised import lab

__all__ = ["lab"]
