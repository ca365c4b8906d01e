"""Generators of logs of failures that need more than one machine without a GPU."""
