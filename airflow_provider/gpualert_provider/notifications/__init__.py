"""Callbacks that send alerts."""
