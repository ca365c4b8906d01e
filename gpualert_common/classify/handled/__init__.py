"""Failures that a program handled, and those that a run hides behind the exit status 0."""
