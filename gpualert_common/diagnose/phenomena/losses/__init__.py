"""Losses of a training: divergence, health, and the warning of losses that are not finite."""
