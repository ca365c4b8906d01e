"""Processes of this machine, and which of them belong to a run."""
