"""Sections of a report: one module and one template each, found by their file names."""
