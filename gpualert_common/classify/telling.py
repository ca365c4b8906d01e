"""Which lines of a log a person should see, however many others there are."""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.exceptions import HEADER, named_alone
from gpualert_common.classify.lines import canonical
from gpualert_common.classify.prefixes import normalise
from gpualert_common.classify.program import Probe, latin1_regex, matches_of, program_of
from gpualert_common.classify.rules import RuleSet
from gpualert_common.model import Role

_LEVEL: Final = latin1_regex(rb"\b(?:WARN|WARNING|ERROR|CRITICAL|FATAL)\b|Warning: ")


def telling_lines(text: bytes, rules: RuleSet) -> list[int]:
    """Start of every line of *text* that a rule takes for evidence, that names an exception, or
    that its logger marks as a warning or worse; ascending.  Linear in the size of *text*.
    """
    found = {text.rfind(b"\n", 0, match.start()) + 1 for match in _LEVEL.finditer(text)}
    hits: dict[int, list[Probe]] = {}
    for probe in program_of(rules).of_lines.may_occur(text):
        for start in probe.line_starts(text):
            hits.setdefault(start, []).append(probe)
    for start, probes in hits.items():
        if start not in found and _is_evidence(text, start, probes):
            found.add(start)
    return sorted(found)


def _is_evidence(text: bytes, start: int, probes: list[Probe]) -> bool:
    end = text.find(b"\n", start)
    line = normalise(canonical(text[start : end if end >= 0 else len(text)])).text
    taken = matches_of(probes, line, in_exception=False)
    if any(pattern.role is not Role.BENIGN for pattern, _ in taken):
        return True
    return HEADER.match(line) is not None or named_alone(line) is not None
