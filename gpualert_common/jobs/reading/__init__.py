"""Reading of a job: from its directory, as of the clock of its store, within a time."""
