"""Tracebacks of a log: read as the log grows, put together, and attributed to their processes."""
