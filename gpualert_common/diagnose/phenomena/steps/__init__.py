"""Number of steps of a training."""
