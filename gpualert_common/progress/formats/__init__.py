"""Parsers of log lines: one module for each framework; ``_interface.py`` is the interface."""
