"""One file per kind of channel; their interface is in :mod:`._interface`."""
