"""The one version number: every distribution of this repository reads it from here."""

__version__ = "0.1.0"
