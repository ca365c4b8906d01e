"""One file per family of frameworks; the interface is in ``_interface.py``."""
