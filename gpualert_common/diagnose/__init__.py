"""From a cause and its grounds to a verdict that people and programs can read."""

from gpualert_common.diagnose.verdict import conclude

__all__ = ["conclude"]
