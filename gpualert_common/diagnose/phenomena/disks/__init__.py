"""Disks that fill up."""
