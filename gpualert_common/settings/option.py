"""The declaration of one setting."""

from __future__ import annotations

from gpualert_common.settings import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VARIABLE_PREFIX = "GPUALERT_"


class Interface:
    """Places where an option may be given, apart from files and the environment."""

    CLI = "gpualert run"
    API = "run()"
    AIRFLOW = "Airflow"
    PREFECT = "Prefect"


EVERYWHERE = (Interface.CLI, Interface.API, Interface.AIRFLOW, Interface.PREFECT)


class Option:
    """One setting.

    ``parse`` converts a given value, or raises ValueError; a tuple has the only texts that are
    accepted.  ``help`` is a phrase for ``--help``, ``gpualert config show`` and the fields of
    blocks; ``details`` are sentences in Markdown for docs/configuration.md.  ``interfaces`` are
    those where it may be given, apart from files and environment; ``spec_field`` is the name of its
    field in a RunSpec.  ``unit`` is the unit of the default ("s", "bytes", or none).
    """

    __slots__ = (
        "choices",
        "default",
        "details",
        "help",
        "interfaces",
        "metavar",
        "name",
        "parse",
        "short_flag",
        "spec_field",
        "unit",
    )

    def __init__(
        self,
        name: str,
        parse: Callable[[object], Any] | tuple[str, ...],
        default: Any,
        help: str,  # noqa: A002 - as argparse calls it
        *,
        details: str = "",
        metavar: str | None = None,
        short_flag: str = "",
        unit: str = "",
        interfaces: tuple[str, ...] = EVERYWHERE,
        spec_field: str = "",
    ) -> None:
        self.name = name
        self.choices = parse if isinstance(parse, tuple) else ()
        self.parse = values.one_of(*parse) if isinstance(parse, tuple) else parse
        self.default = default
        self.help = help
        self.details = details
        self.metavar = metavar
        self.short_flag = short_flag
        self.unit = unit
        self.interfaces = interfaces
        self.spec_field = spec_field

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return f"{VARIABLE_PREFIX}{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Flag of the command line; ``--no-NAME`` for a switch that is on by default."""
        return f"--{'no-' if self.default is True else ''}{self.name.replace('_', '-')}"

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return f"{self.help[0].upper()}{self.help[1:]}."

    @property
    def default_text(self) -> str:
        """The default as a user writes it, "none" where there is none."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if not self.default:
            return "none"
        value = self.write(self.default)
        return " ".join(value) if isinstance(value, list) else str(value)

    def write(self, value: Any) -> Any:
        """Return a value of this setting as a user writes it: durations and sizes as text."""
        if self.unit == "s":
            return values.format_duration(value)
        return values.format_size(value) if self.unit == "bytes" else value
