"""Renewal of digests in the job directory: its times, the last digest, the clocks of the nodes."""
