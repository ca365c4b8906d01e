"""What a task raises when its training has not ended well."""

from __future__ import annotations

from gpualert_common.guardian.failure import TrainingFailure


class TrainingFailed(TrainingFailure, RuntimeError):  # noqa: N818 - as users will catch it
    """A training failed, or somebody stopped it; the first line of the message says why."""
