"""From observations and telemetry to a verdict."""

from gpualert_common.diagnose.verdict import Conclusion, conclude

__all__ = ["Conclusion", "conclude"]
