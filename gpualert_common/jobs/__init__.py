"""Jobs: the runs of one training on many nodes, merged into one verdict."""
