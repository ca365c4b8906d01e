"""The outcome of a task whose training has ended: in the record, in alerts and in Prefect's UI."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpualert_common.errors import GPUAlertError
from prefect_gpualert import alerts

if TYPE_CHECKING:
    from gpualert_common.guardian import RunHandle
    from prefect_gpualert.publishing import Publication

Log = Callable[[str, int], None]


class OutcomeReport:
    """Reports the outcome of one task.  No fault in it changes the task's state."""

    def __init__(
        self,
        handle: RunHandle,
        publication: Publication | None,
        secrets: Mapping[str, Mapping[str, str]] | None,
        log: Log,
    ) -> None:
        self._handle = handle
        self._publication = publication
        self._secrets = secrets
        self._log = log

    def record(self, state: str, next_within_s: float | None) -> None:
        """Write the task's state into the record; no attempt follows if ``next_within_s`` is None.

        The guardian decides by it which alerts to send.
        """
        try:
            self._handle.record_outcome(
                state, final=next_within_s is None, next_within_s=next_within_s
            )
        except (GPUAlertError, OSError) as error:
            self._log(f"The state of the task cannot be recorded: {error}", logging.WARNING)

    def send(self, left_s: float | None, check: Callable[[], None] = lambda: None) -> None:
        """Wait for the alerts of the run, log the delivery of each, and publish the verdict.

        Waits ``left_s`` at most.  ``check`` is called several times a second; its errors are
        raised.
        """
        if self._publication is not None:
            self._publication.publish_end(left_s)
        try:
            for fields in self._handle.await_alerts(
                within_s=left_s, secrets=self._secrets, check=check
            ):
                self._log(*alerts.delivery_line(fields))
        except TimeoutError:  # the timeout of the task
            raise
        except Exception as error:  # noqa: BLE001 - the state of the task is final
            self._log(f"The delivery of the alerts is unknown: {error}", logging.WARNING)
        if self._publication is not None:
            self._publication.wait(check)
