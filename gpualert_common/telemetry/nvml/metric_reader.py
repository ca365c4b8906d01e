"""Reader of the values of one device; each by the first query that driver and GPU support."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpualert_common.telemetry.nvml.metrics import Field, Queries, Query

INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND = 2, 3, 4, 13
GPU_IS_LOST, RESET_REQUIRED, ARGUMENT_VERSION_MISMATCH, DEPRECATED = 15, 16, 25, 26

_PERMANENT_ERRORS = {
    INVALID_ARGUMENT,  # the answer to an unknown field number
    NOT_SUPPORTED,
    NO_PERMISSION,
    FUNCTION_NOT_FOUND,
    ARGUMENT_VERSION_MISMATCH,
    DEPRECATED,
}

_VALUE_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member of a field's value that holds it, by nvmlValueType_t."""

_UNSIGNED_LONG_LONG = 3


class MetricReader:
    """Reads the values of one device.

    A value that is not supported, not permitted or not present is requested once and then omitted;
    ``missing`` holds its name and the reason.  A value that fails temporarily is omitted from that
    sample, and ``on_failure`` is called for it.  ``current_metric`` is the value being requested.
    """

    def __init__(
        self, nvml: Any, device: Any, queries: Queries, on_failure: Callable[[str, Exception], None]
    ) -> None:
        self._nvml = nvml
        self._device = device
        self._queries = {name: list(alternatives) for name, alternatives in queries.items()}
        self._on_failure = on_failure
        self.missing: dict[str, str] = {}
        self.current_metric = ""

    def read(self) -> dict[str, float]:
        """Return all present values.  Raises NVMLError_GpuIsLost, and no other NVMLError."""
        values: dict[str, float] = {}
        names = list(self._queries)
        while names:
            chosen = {name: self._queries[name][0] for name in names}
            fields = {name: query for name, query in chosen.items() if isinstance(query, Field)}
            names = [*self._read_fields(fields, values), *self._read_calls(chosen, values)]
        return values

    def _read_calls(self, chosen: Mapping[str, Query], values: dict[str, float]) -> Iterable[str]:
        """Read the values that are not fields; yield the names that need their next query."""
        for name, query in chosen.items():
            if isinstance(query, Field):
                continue
            self.current_metric = name
            try:
                answer = query(self._nvml, self._device)
            except self._nvml.NVMLError as error:
                if self._handle_error(name, error):
                    yield name
            except AttributeError as error:  # the binding is too old
                if self._drop_query(name, str(error)):
                    yield name
            else:
                values.update(answer if isinstance(answer, Mapping) else {name: answer})

    def _read_fields(self, fields: Mapping[str, Field], values: dict[str, float]) -> list[str]:
        """Read fields in one call; return the names that need their next query."""
        if not fields:
            return []
        self.current_metric = next(iter(fields)) if len(fields) == 1 else "fields"
        pairs = [(field.id, scope) for field in fields.values() for scope in field.scopes]
        try:
            answer = iter(self._nvml.nvmlDeviceGetFieldValues(self._device, pairs))
        except self._nvml.NVMLError as error:
            if len(fields) == 1:
                return [name for name in fields if self._handle_error(name, error)]
            # One field can fail the call for all.
            single_reads = [
                self._read_fields({name: field}, values) for name, field in fields.items()
            ]
            return [name for names in single_reads for name in names]
        retried = []
        for name, field in fields.items():
            answers = [next(answer) for _ in field.scopes]
            values_read = [answer for answer in answers if not answer.nvmlReturn]
            transient = {answer.nvmlReturn for answer in answers} - _PERMANENT_ERRORS - {0}
            if transient or not values_read:
                code = min(transient) if transient else answers[0].nvmlReturn
                has_next = self._handle_error(name, self._nvml.NVMLError(code))
            elif field.is_64_bit and values_read[0].valueType != _UNSIGNED_LONG_LONG:
                has_next = self._drop_query(name, "this driver has another field of that number")
            else:
                has_next = False
                values[name] = sum(map(get_value, values_read))
            if has_next:
                retried.append(name)
        return retried

    def _handle_error(self, name: str, error: Any) -> bool:
        if error.value == GPU_IS_LOST:
            raise error
        if error.value in _PERMANENT_ERRORS:
            return self._drop_query(name, str(error))
        self._on_failure(name, error)
        return False

    def _drop_query(self, name: str, why: str) -> bool:
        """Drop the first query of a value; return whether another one is left."""
        queries = self._queries[name]
        queries.pop(0)
        if not queries:
            del self._queries[name]
            self.missing[name] = why
        return bool(queries)


def get_value(answer: Any) -> float:
    """Return the value in a successful answer of nvmlDeviceGetFieldValues."""
    value: float = getattr(answer.value, _VALUE_MEMBERS[answer.valueType])
    return value


def read_fact(nvml: Any, function: str, *arguments: Any) -> Any:
    """Return the result of a function of the binding; None if it fails."""
    try:
        return getattr(nvml, function)(*arguments)
    except (nvml.NVMLError, AttributeError, UnicodeDecodeError):
        return None
