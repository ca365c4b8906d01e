"""Evidence sources beside the log: what each measures, sampled while a run is in progress."""
