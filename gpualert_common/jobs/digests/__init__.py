"""Digests: from the record of a run to a digest of it, and its JSON."""
