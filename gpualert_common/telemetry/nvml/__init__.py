"""What the source ``nvml`` is made of: the values, one GPU, its events, and calls that may hang."""
