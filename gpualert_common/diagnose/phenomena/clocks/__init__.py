"""Clocks of GPUs: throttling, and one GPU that lags behind its peers."""
