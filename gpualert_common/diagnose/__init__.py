"""From a cause and its grounds to a verdict that people and programs can read."""

from gpualert_common.diagnose.verdict import conclude, conclude_with_explanation

__all__ = ["conclude", "conclude_with_explanation"]
