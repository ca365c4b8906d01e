"""The launch record: the request for a run and the place of its launch, as ``spec.json`` has them.

Written before the launch by :func:`gpualert_common.record.describe`, which imports none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypedDict


class Owner(TypedDict, total=False):
    """The attempt of an engine that owns the run from its launch on, and its terms.

    ``told_as`` is the number that the engine shows, if it is not ``number``.
    :class:`~gpualert_common.guardian.attempt.Attempt` explains the other keys.
    """

    key: tuple[str, ...]
    owner: str
    number: int
    fingerprint: str
    lease_s: float
    adopt_within_s: float
    across_hosts: bool
    is_last: bool
    told_as: int | None
    training: str | None


class ChannelConfig(TypedDict):
    """A channel for alerts, without the secrets that the user passed directly."""

    name: str
    kind: str
    settings: dict[str, Any]


class AlertSettings(TypedDict, total=False):
    """The alerts of a run: their channels, and the options of a run about alerts."""

    channels: list[ChannelConfig]
    on: str
    warn: bool
    deadline_s: float
    artifacts: list[str]
    templates: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRecord:
    """The launch record of one run; a key that the file lacks has its default.

    ``custody`` is None for a run without a guardian, ``alerts`` for one without alerts.  ``tried``
    has the locations that could not keep the record, each with its problem.  ``supervised`` is
    False for a run that another program supervised; ``said`` is then its failure in one line.
    """

    run_id: str | None = None
    command: tuple[str, ...] = ()
    cwd: str | None = None
    name: str | None = None
    logs: tuple[str, ...] = ()
    streams: str = "merged"
    timeout_s: float | None = None
    grace_s: float = 0.0
    log_full: str = "fail"
    end_survivors: bool = False
    custody: Owner | None = None
    rules: str | None = None
    observe: bool = False
    alerts: AlertSettings | None = None
    created_at: float = 0.0
    host: str | None = None
    uid: int | None = None
    boot_id: str | None = None
    pid_namespace: str | None = None
    supervisor_pid: int = 0
    environment: tuple[str, ...] = ()
    reserved_bytes: int = 0
    tried: tuple[tuple[str, str], ...] = ()
    supervised: bool = True
    said: str | None = None

    @classmethod
    def of_own(cls, fields: Mapping[str, Any]) -> Self:
        """Return the launch record that this process wrote; it is valid, so nothing is checked."""
        return cls(**{name: fields[name] for name in cls.__slots__ if name in fields})

    @property
    def owner(self) -> Owner:
        """The owner at the launch; empty for a run without a guardian."""
        return self.custody or Owner()
