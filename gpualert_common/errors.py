"""Errors, one class per party that has to act.

A message says what was tried, on what, what came back, and the next thing to do.
"""


class GPUAlertError(Exception):
    """Root of every error that gpualert raises on purpose."""


class UsageError(GPUAlertError):
    """The caller asked for something that cannot be done as asked (argument, path, run id)."""


class ConfigError(UsageError):
    """A configuration file or ``GPUALERT_*`` variable is wrong; names the file and the key."""


class RuleError(GPUAlertError):
    """A rule file is wrong; names the file and the key.  For the rule's author."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {key}: {problem}")
        self.file = file
        self.key = key


class NoDurableLogError(GPUAlertError):
    """No place for the log could be had, so nothing was launched.  For the host's operator.

    ``tried`` holds (place, what came back) in the order of the attempts.
    """

    def __init__(self, tried: list[tuple[str, str]]) -> None:
        lines = "".join(f"\n  {place}: {problem}" for place, problem in tried)
        super().__init__(
            f"no place for a durable log, nothing was launched; tried:{lines}\n"
            "free space there, or name another place with --state-dir or GPUALERT_STATE_DIR"
        )
        self.tried = tried


class RecordError(GPUAlertError):
    """A run record cannot be read or trusted: absent, damaged, foreign, or of a newer schema."""


class DamagedFileError(RecordError):
    """A file of a record holds what no release of ours wrote."""


class GuardianError(GPUAlertError):
    """No guardian could be started, or the run before this one stands in the way."""


class SupersededError(GPUAlertError):
    """A later attempt at the same task took the run over; what becomes of it is its to say."""


class DeliveryError(GPUAlertError):
    """An alert was not delivered.  ``transient``: the same attempt may succeed later.

    For whoever runs the channel: the message says which server or program, what was asked of it,
    and what came back.
    """

    def __init__(self, message: str, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient

    def __reduce__(self) -> tuple[type, tuple[str, bool]]:
        """It is raised in one process and told in another."""
        return type(self), (str(self), self.transient)


class MissingSecretError(DeliveryError):
    """A channel's secret cannot be had here; whoever has it may send the alert all the same."""

    def __init__(self, message: str, transient: bool = True) -> None:
        super().__init__(message, transient)
