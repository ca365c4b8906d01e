"""Base of the errors that the packages for engines raise for a failed training."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from gpualert_common.errors import GPUAlertError

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.record import Record


class TrainingFailure(Exception):  # noqa: N818 - not raised itself: each package names its error
    """Base of an error for a failed training: ``class E(TrainingFailure, ErrorOfTheEngine)``.

    ``cause`` is one of the core's causes ("unknown" without a verdict), ``verdict`` the whole
    verdict or None, ``exit_code`` the child's status (-n: killed by signal n, 124: time limit,
    None: lost), ``log_path`` its log and ``run_id`` its record.  Pickling keeps them, so that retry
    conditions, callbacks and stored results in other processes see them.
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


def find_failed_run(error: object) -> Record | None:
    """Return the record of the training whose failure led to *error*.

    Causes and contexts of the exception count, too.  None where no training of ours failed, or
    where its record cannot be read.
    """
    from gpualert_common.record import Record

    visited: set[int] = set()
    while isinstance(error, BaseException) and id(error) not in visited:
        visited.add(id(error))
        if isinstance(error, TrainingFailure) and error.log_path:
            with contextlib.suppress(GPUAlertError):
                return Record.open(os.path.dirname(error.log_path))
        error = error.__cause__ or error.__context__
    return None
