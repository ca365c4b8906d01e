"""Parts of the source ``nvml``: metrics, one GPU, its events, and calls that may hang."""
