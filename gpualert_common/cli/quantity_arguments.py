"""Moments, durations and numbers, as a person gives them to a command."""

from __future__ import annotations

import argparse

from gpualert_common import moments
from gpualert_common.moments import MOMENT_FORMS
from gpualert_common.settings.values import parse_duration

__all__ = ["MOMENT_FORMS", "parse_count", "parse_moment", "parse_seconds"]


def parse_moment(text: str) -> float:
    """Return the moment in seconds since the epoch.  For argparse: raises ArgumentTypeError."""
    try:
        return moments.parse_moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_seconds(text: str) -> float:
    """Return a duration in seconds.  For argparse: raises ArgumentTypeError."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 30s, 10m or 2h")
    return seconds


def parse_count(text: str) -> int:
    """Return a whole number from 0 on.  For argparse: raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)
