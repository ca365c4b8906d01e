"""Runs that stand still: the family, and the warnings of idle GPUs and of a silent log."""
