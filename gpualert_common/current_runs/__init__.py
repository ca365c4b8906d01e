"""Runs of this machine as they are now: all of them by an index, and the numbers of live runs."""
