"""Text of a verdict, from the templates of a rule and the known values of the run.

A template with an unknown placeholder is left out, so that no text has a gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from gpualert_common.classify.details import Details, Scalar, placeholders
from gpualert_common.classify.platforms import describe_platform
from gpualert_common.classify.resolution import Resolution
from gpualert_common.classify.rules import ANY_VALUE, Rule, RuleSet, RuleText
from gpualert_common.model import Attribution, Retry
from gpualert_common.structs import replace
from gpualert_common.whole_words import cut_words

_FORMATTER = Formatter()
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_LONGEST = 240
_HOUR_S, _MINUTE_S = 3600.0, 60.0


def find_rule(resolution: Resolution, rules: RuleSet) -> Rule:
    """Return the rule with the text of the verdict: that of the evidence, perhaps a user's own."""
    for one in resolution.evidence[:1]:
        own = rules.of_pattern(one.pattern)
        if own is not None and own.id == resolution.cause:
            return own
    return rules.by_cause.get(resolution.cause) or _bare_rule(resolution.cause)


def _bare_rule(cause: str) -> Rule:
    """Return the rule of a cause without a rule file, or with a broken one."""
    return Rule(
        id=cause,
        order=0,
        family="G1" if cause == "none" else None,
        fault_class=None,
        attribution=Attribution.UNKNOWN,
        retry=Retry.NO if cause == "none" else Retry.SAME,
        words=RuleText(
            headline=(cause.replace("_", " "),),
            implies=(),
            cannot_decide=("what this cause implies: its rule file could not be read",),
            do=("run `gpualert rules check`",),
        ),
        cases=(),
        patterns=(),
        exceptions=(),
        raised_in=(),
        signals=(),
        exit_codes=(),
        sources=(),
        since="0.1.0",
        file="",
        samples={},
    )


def fill_first(templates: Iterable[str], known: Details) -> str | None:
    """Return the first of *templates* with known placeholders, filled; None without one."""
    return next(iter(fill_all(templates, known)), None)


def fill_all(templates: Iterable[str], known: Details) -> tuple[str, ...]:
    """Return those of *templates* with known placeholders, filled."""
    shown = {
        name: _format_value(name, value) for name, value in known.items() if value not in (None, "")
    }
    return tuple(
        _FORMATTER.vformat(template, (), shown) if "{" in template else template
        for template in templates
        if placeholders(template) <= shown.keys()
    )


def show_template(template: str) -> str:
    """Return a template for readers of the rules, with example values.

    Tools are those of CUDA, and other values are words in capitals: "check PATH".
    """
    examples = describe_platform("CUDA") | {"platform": "CUDA"}
    shown = {name: examples.get(name, _describe_value(name)) for name in placeholders(template)}
    return _FORMATTER.vformat(template, (), shown)


def _describe_value(name: str) -> str:
    return "SIZE" if name.endswith("_bytes") else name.upper()


def choose_text(rule: Rule, known: Details) -> RuleText:
    """Return the text of *rule* for these values: its first fitting case, else the general one.

    It has the attribution and the retry, too.
    """
    plain = rule.words
    for case in rule.cases:
        if _applies(case, known):
            return RuleText(
                headline=case.headline or plain.headline,
                implies=case.implies or plain.implies,
                cannot_decide=case.cannot_decide or plain.cannot_decide,
                do=case.do or plain.do,
                attribution=case.attribution or rule.attribution,
                retry=case.retry or rule.retry,
            )
    return replace(plain, attribution=rule.attribution, retry=rule.retry)


def _applies(case: RuleText, known: Details) -> bool:
    values = ((known.get(name), value) for name, value in case.when)
    return all(found is not None and value in (ANY_VALUE, str(found)) for found, value in values)


def format_estimate(seconds: float) -> str:
    """Return a time that is only estimated: in hours, minutes or seconds."""
    if seconds >= 2 * _HOUR_S:
        return f"{seconds / _HOUR_S:.1f} hours"
    if seconds >= 2 * _MINUTE_S:
        return f"{seconds / _MINUTE_S:.0f} minutes"
    return f"{seconds:.0f} s"


def format_size(count: int) -> str:
    """Return a human-readable size: "91.6 GiB"."""
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if abs(value) < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def _format_value(name: str, value: Scalar) -> str:
    if name.endswith("_bytes") and isinstance(value, int):
        return format_size(value)
    # Blanks within a line stay: redaction recognizes the columns of a table by them.
    return cut_words(" ".join(line.strip() for line in str(value).splitlines()), _LONGEST)
