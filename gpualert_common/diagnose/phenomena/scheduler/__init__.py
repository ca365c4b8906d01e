"""Scheduler: jobs that it ended, and nodes that it lost."""
