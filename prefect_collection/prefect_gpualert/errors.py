"""What a task raises when its training has not ended well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpualert_common.model import Verdict


class TrainingFailed(RuntimeError):  # noqa: N818 - a RuntimeError as upstream's, named by the design
    """A training failed, or somebody stopped it; the first line of the message says why.

    ``cause`` is one of the core's causes ("unknown" without a verdict), ``verdict`` the whole
    verdict or None, ``exit_code`` the child's status (-n: killed by signal n, 124: time limit,
    None: lost), ``log_path`` its log and ``run_id`` its record.  Survives pickling, so that
    ``retry_condition_fn``, hooks and persisted results see the same attributes.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: str = "unknown",
        exit_code: int | None = None,
        log_path: str | None = None,
        run_id: str | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.exit_code = exit_code
        self.log_path = log_path
        self.run_id = run_id
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__
