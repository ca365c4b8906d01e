"""Web pages of the runs on this machine: the server of ``gpualert web``."""
