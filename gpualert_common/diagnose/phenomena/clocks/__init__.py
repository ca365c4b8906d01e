"""Clocks of GPUs: throttling, and one GPU that is slower than its peers."""
