"""Diagnosis: from a cause and all evidence to the verdict."""

from gpualert_common.diagnose.verdict import Conclusion, conclude

__all__ = ["Conclusion", "conclude"]
