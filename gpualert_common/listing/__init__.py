"""The list of runs, newest first, and the lookup of a run by its id or its name."""
