"""Lines of a log that a person should see, however many others there are."""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.compiled_rules import compile_rules, match_patterns
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.probes import Probe
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.tracebacks.exception_names import find_bare_exception
from gpualert_common.classify.tracebacks.lines import parse_header
from gpualert_common.model import Role
from gpualert_common.regex import compile_bytes

_LEVEL: Final = compile_bytes(rb"\b(?:WARN|WARNING|ERROR|CRITICAL|FATAL)\b|Warning: ")


def find_notable_lines(text: bytes, rules: RuleSet) -> list[int]:
    """Return the start of every notable line of *text*, ascending.  Linear in the size of *text*.

    Notable are lines that a rule takes for evidence, that name an exception, or that their logger
    marks as a warning or worse.
    """
    found = {text.rfind(b"\n", 0, match.start()) + 1 for match in _LEVEL.finditer(text)}
    selected: dict[int, list[Probe]] = {}
    for probe in compile_rules(rules).line_probes.select_in_lines(text):
        for start in probe.find_line_starts(text):
            selected.setdefault(start, []).append(probe)
    for start, probes in selected.items():
        if start not in found and _is_evidence(text, start, probes):
            found.add(start)
    return sorted(found)


def _is_evidence(text: bytes, start: int, probes: list[Probe]) -> bool:
    end = text.find(b"\n", start)
    line = strip_prefixes(canonicalize(text[start : end if end >= 0 else len(text)])).text
    matches = match_patterns(probes, line, in_exception=False)
    if any(pattern.role is not Role.BENIGN for pattern, _ in matches):
        return True
    return parse_header(line) is not None or find_bare_exception(line) is not None
