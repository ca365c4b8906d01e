"""The error of the corpus tools."""

from __future__ import annotations

from gpualert_common.errors import GPUAlertError


class CorpusError(GPUAlertError):
    """The corpus is wrong: an entry, a label or a program.  Names the place, for its author."""
