"""The commands of ``python -m corpus``; each module is imported when its command is run."""
