"""Traces of PyTorch that were being taken."""
