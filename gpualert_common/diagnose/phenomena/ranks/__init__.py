"""Ranks that the others lost."""
