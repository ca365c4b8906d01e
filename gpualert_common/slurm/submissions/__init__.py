"""Batch jobs that are submitted once, followed by one process after the other, and cancelled."""
