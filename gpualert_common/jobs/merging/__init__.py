"""Merging of the digests of a job into its report: attempts, root, losses, stragglers, verdict."""
