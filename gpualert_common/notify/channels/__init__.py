"""One file per kind of channel; what each must be is in :mod:`._interface`."""
