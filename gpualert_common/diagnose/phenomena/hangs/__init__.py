"""Hangs: the family, and the warnings about idle GPUs and a silent log."""
