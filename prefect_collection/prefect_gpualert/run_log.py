"""The run log of Prefect, as far as trainings write to it."""

from __future__ import annotations

import logging

from prefect import get_run_logger
from prefect.exceptions import MissingContextError
from prefect.logging import get_logger
from prefect.logging.loggers import LoggingAdapter

Logger = logging.Logger | LoggingAdapter


def run_logger() -> Logger:
    """Return the logger of the current task or flow, or Prefect's own outside of both."""
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger("gpualert")


def log_line(logger: Logger, text: str, level: int = logging.INFO) -> None:
    """Log a line if possible: a broken log stops no training."""
    try:
        logger.log(level, "%s", text)
    except (Exception, SystemExit):  # noqa: BLE001 - as above; Prefect's console handler exits
        pass  # where stdout is the pipe of a worker that has died
