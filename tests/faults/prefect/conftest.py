"""The server that the faults are played at."""

from tests.faults.prefect.deployment import place, standing

__all__ = ["place", "standing"]
