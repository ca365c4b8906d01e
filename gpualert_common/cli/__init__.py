"""The program ``gpualert``."""
