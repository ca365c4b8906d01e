"""Reading values of one device, each by the first way that this driver and this GPU know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpualert_common.telemetry.nvml.metrics import Field, Way, Ways

INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND = 2, 3, 4, 13
GPU_IS_LOST, RESET_REQUIRED, ARGUMENT_VERSION_MISMATCH, DEPRECATED = 15, 16, 25, 26

_FOR_GOOD = {
    INVALID_ARGUMENT,  # what NVML says to the number of a field that it does not know yet
    NOT_SUPPORTED,
    NO_PERMISSION,
    FUNCTION_NOT_FOUND,
    ARGUMENT_VERSION_MISMATCH,
    DEPRECATED,
}

_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member of a field's value that holds it, by nvmlValueType_t."""

_UNSIGNED_LONG_LONG = 3


class MetricReader:
    """The values of one device.

    What is not supported, not permitted or not there is asked once and then left out: ``lacks`` has
    its name and why.  What fails for a moment is left out for that moment, and ``failed`` is told
    of it the first time.  ``asking`` is the value that is being asked for.
    """

    def __init__(
        self, nvml: Any, device: Any, ways: Ways, failed: Callable[[str, Exception], None]
    ) -> None:
        self._nvml = nvml
        self._device = device
        self._ways = {name: list(known) for name, known in ways.items()}
        self._failed = failed
        self.lacks: dict[str, str] = {}
        self.asking = ""

    def read(self) -> dict[str, float]:
        """Every value there is now.  Raises NVMLError_GpuIsLost, and no other NVMLError."""
        values: dict[str, float] = {}
        names = list(self._ways)
        while names:
            chosen = {name: self._ways[name][0] for name in names}
            fields = {name: way for name, way in chosen.items() if isinstance(way, Field)}
            names = [*self._read_fields(fields, values), *self._call(chosen, values)]
        return values

    def _call(self, chosen: Mapping[str, Way], values: dict[str, float]) -> Iterable[str]:
        """Reads what is not a field; yields the names that are to be asked by their next way."""
        for name, way in chosen.items():
            if isinstance(way, Field):
                continue
            self.asking = name
            try:
                told = way(self._nvml, self._device)
            except self._nvml.NVMLError as error:
                if self._has_next_way(name, error):
                    yield name
            except AttributeError as error:  # the binding is older than the function
                if self._goes_on(name, str(error)):
                    yield name
            else:
                values.update(told if isinstance(told, Mapping) else {name: told})

    def _read_fields(self, fields: Mapping[str, Field], values: dict[str, float]) -> list[str]:
        """Reads fields in one call; returns the names that are to be asked by their next way."""
        if not fields:
            return []
        self.asking = next(iter(fields)) if len(fields) == 1 else "fields"
        pairs = [(field.id, scope) for field in fields.values() for scope in field.scopes]
        try:
            told = iter(self._nvml.nvmlDeviceGetFieldValues(self._device, pairs))
        except self._nvml.NVMLError as error:
            if len(fields) == 1:
                return [name for name in fields if self._has_next_way(name, error)]
            # One field can spoil the call for all.
            alone = [self._read_fields({name: field}, values) for name, field in fields.items()]
            return [name for names in alone for name in names]
        again = []
        for name, field in fields.items():
            answers = [next(told) for _ in field.scopes]
            good = [answer for answer in answers if not answer.nvmlReturn]
            passing = {answer.nvmlReturn for answer in answers} - _FOR_GOOD - {0}
            if passing or not good:
                code = min(passing) if passing else answers[0].nvmlReturn
                goes_on = self._has_next_way(name, self._nvml.NVMLError(code))
            elif field.wide and good[0].valueType != _UNSIGNED_LONG_LONG:
                goes_on = self._goes_on(name, "this driver has another field of that number")
            else:
                goes_on = False
                values[name] = sum(map(value_of, good))
            if goes_on:
                again.append(name)
        return again

    def _has_next_way(self, name: str, error: Any) -> bool:
        if error.value == GPU_IS_LOST:
            raise error
        if error.value in _FOR_GOOD:
            return self._goes_on(name, str(error))
        self._failed(name, error)
        return False

    def _goes_on(self, name: str, why: str) -> bool:
        """Leaves a way for the next one; False when there is none left."""
        ways = self._ways[name]
        ways.pop(0)
        if not ways:
            del self._ways[name]
            self.lacks[name] = why
        return bool(ways)


def value_of(answer: Any) -> float:
    """What an answer of nvmlDeviceGetFieldValues says, which did not fail."""
    value: float = getattr(answer.value, _MEMBERS[answer.valueType])
    return value


def fact(nvml: Any, function: str, *arguments: Any) -> Any:
    """What a function of the binding tells, None where it fails."""
    try:
        return getattr(nvml, function)(*arguments)
    except (nvml.NVMLError, AttributeError, UnicodeDecodeError):
        return None
