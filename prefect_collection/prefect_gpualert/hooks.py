"""``gpualert_hook``: a hook that sends an alert at the end of any task or flow."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol

from gpualert_common.errors import ConfigError
from gpualert_common.settings import OPTIONS
from prefect_gpualert import alerts
from prefect_gpualert.hook_alerts import send_alerts

DEADLINE_S = 15.0
_MARGIN_S = 5.0
"""For the work before and after the wait, on a busy machine."""


class Hook(Protocol):
    """A hook.  Prefect's runner passes these names, its engines pass positional arguments."""

    __name__: str

    def __call__(self, flow: Any, flow_run: Any, state: Any) -> Awaitable[None] | None:
        """Send alerts at the end of a run; in an event loop the result is awaitable."""


def gpualert_hook(
    notify: alerts.Target | Sequence[alerts.Target] | None = None,
    *,
    artifact: str | Sequence[str] | None = None,
    deadline: float | str = DEADLINE_S,
    state_dir: str | os.PathLike[str] | None = None,
) -> Hook:
    """Return a hook for ``on_failure``, ``on_completion``, ``on_crashed`` or ``on_cancellation``.

    notify: where alerts go, as for ``gpualert_run``; None: as in gpualert's configuration.
    artifact: files for the alert of a task without a training, as glob patterns.
    deadline: how long the hook waits for its alerts; later ones are still sent.
    state_dir: directory that holds the run records.

    For a training it sends the alert of its record, and no channel gets the same alert twice.  Any
    other task or flow gets a record made from its state and exception.  The hook changes no state:
    its errors are logged.
    """
    given = {
        "notify": alerts.replace_blocks_by_tables(notify),
        "artifact": artifact if artifact is None or isinstance(artifact, str) else list(artifact),
        "notify_deadline": deadline,
        "state_dir": None if state_dir is None else os.fspath(state_dir),
    }
    within_s = _seconds(deadline)

    def gpualert_hook(flow: Any, flow_run: Any, state: Any) -> Awaitable[None] | None:
        return _run_within(lambda: send_alerts(given, flow, flow_run, state), within_s + _MARGIN_S)

    return gpualert_hook


def _seconds(deadline: float | str) -> float:
    try:
        return float(OPTIONS["notify_deadline"].parse(deadline))
    except ValueError as error:
        raise ConfigError(f"gpualert_hook: deadline: {error}") from None


def _run_within(work: Callable[[], None], within_s: float) -> Coroutine[Any, Any, None] | None:
    """Do the work in a thread, and wait for it for at most ``within_s``.

    In an event loop return a coroutine, which Prefect awaits while other tasks continue.
    """
    done: Future[None] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        # No error may reach Prefect, which takes SystemExit for a crash.
        with contextlib.suppress(BaseException):
            context.run(work)
        done.set_result(None)

    try:
        threading.Thread(target=run, name="gpualert-hook", daemon=True).start()
    except RuntimeError as error:
        logging.getLogger("prefect.gpualert").error("No alert: %s", error)
        return None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with contextlib.suppress(FutureTimeoutError):
            done.result(within_s)
        return None
    return _wait_async(done, within_s)


async def _wait_async(done: Future[None], within_s: float) -> None:
    await asyncio.wait([asyncio.wrap_future(done)], timeout=within_s)
