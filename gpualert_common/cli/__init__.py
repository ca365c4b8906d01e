"""The program gpualert: one file for each command."""
