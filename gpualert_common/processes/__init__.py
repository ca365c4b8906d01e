"""Processes of this machine: what /proc says of them, and which of them belong to a run."""
