"""Watch over processes that gpualert did not start: over one, or over all that use a GPU."""
