"""Stores that the nodes of a job share: a directory, or an object store by fsspec."""
