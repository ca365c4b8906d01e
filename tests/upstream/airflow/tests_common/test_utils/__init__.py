"""The modules that tests import by name."""
