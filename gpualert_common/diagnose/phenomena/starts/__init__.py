"""Start of a training: failures before the first step, and resuming from a checkpoint."""
