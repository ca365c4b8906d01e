"""Losses of a training: divergence, health, and the warning about losses that are not finite."""
