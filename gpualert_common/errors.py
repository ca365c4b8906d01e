"""Errors, one class per party that has to act.

A message names the operation, its object, the result, and the next step.
"""


class GPUAlertError(Exception):
    """Base class of the errors that gpualert raises."""


class UsageError(GPUAlertError):
    """A request of the caller is invalid (argument, path, run id)."""


class ConfigError(UsageError):
    """A configuration file or ``GPUALERT_*`` variable is wrong; names the file and the key."""


class RuleError(GPUAlertError):
    """A rule file is wrong; names the file and the key.  For the rule's author."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {key}: {problem}")
        self.file = file
        self.key = key


class NoDurableLogError(GPUAlertError):
    """No directory for the log is usable, so nothing was launched.  For the host's operator.

    ``tried`` holds (directory, problem) in the order of the attempts.
    """

    def __init__(self, tried: list[tuple[str, str]]) -> None:
        lines = "".join(f"\n  {place}: {problem}" for place, problem in tried)
        super().__init__(
            f"no place for a durable log, nothing was launched; tried:{lines}\n"
            "make one of them usable, or name another place with --state-dir or GPUALERT_STATE_DIR"
        )
        self.tried = tried


class RecordError(GPUAlertError):
    """A run record is missing, damaged, of another user, or of a newer schema."""


class DamagedFileError(RecordError):
    """A file of a record has content that no release of gpualert writes."""


class GuardianError(GPUAlertError):
    """No guardian could be started, or the earlier run prevents it."""


class SupersededError(GPUAlertError):
    """A later attempt at the same task took over the run, and decides about it."""


class StoreError(GPUAlertError):
    """The place that the nodes of a job share failed.  For its operator.

    The message names the place, the operation and the answer.
    """


class SlurmError(GPUAlertError):
    """A command of Slurm is missing, failed, or gave no answer.  For the cluster's operator.

    ``is_missing`` is True where the command is not installed, ``is_late`` where it gave no answer
    within its deadline; ``said`` is its own message.
    """

    def __init__(
        self, message: str, *, is_missing: bool = False, is_late: bool = False, said: str = ""
    ) -> None:
        super().__init__(message)
        self.is_missing = is_missing
        self.is_late = is_late
        self.said = said


class DeliveryError(GPUAlertError):
    """An alert was not delivered.  ``transient``: the same attempt may succeed later.

    For the operator of the channel: the message names the server or program, the request and the
    answer.
    """

    def __init__(self, message: str, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient

    def __reduce__(self) -> tuple[type, tuple[str, bool]]:
        """Support pickling: the error is raised in one process and reported in another."""
        return type(self), (str(self), self.transient)


class MissingSecretError(DeliveryError):
    """A channel's secret is missing in this process; another process may send the alert."""

    def __init__(self, message: str, transient: bool = True) -> None:
        super().__init__(message, transient)
