"""Evidence beside the log: what the machine says of a run while it goes on, one file per source."""
