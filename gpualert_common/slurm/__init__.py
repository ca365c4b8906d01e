"""Slurm: its commands, and the states of its jobs, steps and nodes."""
