"""The server for the faults."""

from tests.faults.prefect.deployment import place, standing

__all__ = ["place", "standing"]
