#!/usr/bin/env python3
"""Generate the pages, and parts of pages, whose source is the code, the rules or the corpus.

``generate.py`` writes them. ``generate.py --check`` lists the stale ones and exits with 1.

| page | source |
|---|---|
| CONTRIBUTING.md, table of floors | tests/structure/floors.py, docstrings of the rooms |
| docs/accuracy.md, its summary in README.md | corpus/results.json, first_contact.jsonl |
| docs/rules.md, docs/causes/ | rules/*.toml |
| docs/redaction.md | rules/secrets/*.toml |
| docs/channels.md, docs/evidence.md, docs/warnings.md | docstrings and settings of the plugins |
| docs/configuration.md | the declarations of the options |
| docs/cli.md | ``gpualert COMMAND --help`` |
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from corpus.entries import CORPUS
from corpus.evaluation.tables import format_kept_summary, format_kept_tables
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.classify.rules import Rule, RulePattern, RuleText
from gpualert_common.cli.arguments import build_parser
from gpualert_common.diagnose import phenomena, regression, thresholds
from gpualert_common.notify.channel_config import channel_class, channel_kinds
from gpualert_common.redact.samples import expand_sample
from gpualert_common.redact.secret_kinds import SecretKind, load_secrets
from gpualert_common.settings import OPTIONS, Face, Option
from gpualert_common.telemetry import source
from tests.structure.floors import format_floors

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
RULES_PAGE = ROOT / "docs" / "rules.md"
CAUSES = ROOT / "docs" / "causes"
REDACTION_PAGE = ROOT / "docs" / "redaction.md"
CHANNELS_PAGE = ROOT / "docs" / "channels.md"
EVIDENCE_PAGE = ROOT / "docs" / "evidence.md"
WARNINGS_PAGE = ROOT / "docs" / "warnings.md"
CLI_PAGE = ROOT / "docs" / "cli.md"
CONFIGURATION_PAGE = ROOT / "docs" / "configuration.md"
ACCURACY_PAGE = ROOT / "docs" / "accuracy.md"
FLOORS_BLOCK = re.compile(r"<!-- floors -->\n.*?<!-- end -->", re.DOTALL)
ACCURACY_BLOCK = re.compile(r"<!-- accuracy -->\n.*?<!-- end -->", re.DOTALL)

CLI_HEAD = """\
# The program

Made from `gpualert COMMAND --help` by `make docs`; do not edit. The options of `gpualert run` and
their defaults can also be set in files and in the environment: see
[configuration](configuration.md).

"""

CONFIGURATION_HEAD = """\
# Configuration

Made from `gpualert_common/settings/options.py` by `make docs`; do not edit.

The first of these that sets an option wins:

1. a flag of `gpualert run`, or an argument in Python: of `gpualert_common.run()`, of Airflow's
   `GPUAlertOperator` and `@task.gpualert`, or of Prefect's `gpualert_run` and `TrainingOperation`
2. the environment variable
3. `gpualert.toml` in the working directory
4. `$XDG_CONFIG_HOME/gpualert/config.toml`, else `~/.config/gpualert/config.toml`
5. the default

An unknown key in a file is an error that names the file and the key. `gpualert config show` prints
the value and the origin of every option. A duration is a number of seconds or text such as `30s`,
`90m` or `12h`; a size is a number of bytes or text such as `500KB` or `1MiB`. In the environment a
list is text with spaces between its entries.

```toml
# gpualert.toml
grace = "2m"
notify = ["mail"]
warn = true

[channels.mail]
kind = "smtp"
host = "mail.example.org"
to = ["me@example.org"]
```

| key | flag | environment | default | argument of | meaning |
|---|---|---|---|---|---|
"""

RULES_HEAD = """\
# The causes that gpualert names

Made from `rules/*.toml` by `make docs`; do not edit. A page for each cause says what a verdict
with it tells, what to do, and by which lines it is seen.

A verdict is drawn from all evidence together, never from one pattern. A pattern that matches is an
observation with a role: `root` names the cause, `confirmation` proves it, `cascade` followed from
something else, `report` is what a launcher says of its children, and `benign` takes a line out of
account. What an exception's message says goes before where it was raised, and that before its
type. Where several causes fit one message the one further up in this table is taken; of several
failures the most telling and then the earliest is the root.

| cause | family | whose fault | retry | what it is told as |
|---|---|---|---|---|
"""

REDACTION_HEAD = """\
# What is masked before anything leaves the machine

Made from `rules/secrets/*.toml` by `make docs`; do not edit. Bodies, attachments, excerpts and
file names go through it; the log on the disk stays as it is. A mask reads `[redacted KIND]`,
and what surrounds the secret stays: name, host, user. Channel secrets and others that gpualert
is given are masked by their letters, as `[redacted known]`, also in JSON, in addresses and in
base64. Escape sequences of a terminal are looked through.

What it cannot see: a secret without a form or a name of its own ("the password is hunter2"),
the second half of a token whose beginning was cut off, what follows a blank in a password
without quotes, a value that stands on the line below its name, a private key with other lines
in between, and text in UTF-16 or in archives. It lowers a risk; it is no licence to print
secrets.

| mask | what it stands for |
|---|---|
"""

CHANNELS_HEAD = """\
# Where alerts go

Made from `gpualert_common/notify/channels/*.py` by `make docs`; do not edit. A channel is a table
in a configuration file, and `notify` names those that are used:

```toml
notify = ["mail", "mailbox"]

[channels.mail]
kind = "smtp"
host = "mail.example.org"
user = "training@example.org"
password = "file:~/.config/gpualert/mail-password"
to = ["me@example.org"]
```

Sizes are bytes, or text such as `500KB` and `10MB`. In place of any value `env:NAME` is that of an
environment variable and `file:PATH` the content of a file. A secret that is given in person never
touches the disk: only the process that sends holds it.

"""
EVIDENCE_HEAD = """\
# What a verdict is drawn from beside the log

Made from `gpualert_common/telemetry/sources/*.py`, `gpualert_common/diagnose/phenomena/*/*.py`
and `gpualert_common/diagnose/thresholds.py` by `make docs`; do not edit.

A run that lasts for more than a second has a process beside it (`--no-observe`: none) that looks
at the machine every five seconds and once more when the run has ended. What it sees stands in
`telemetry.jsonl` of the run's record: of the last hour each look, of the time before fewer and
fewer, with the extremes of those that are not there. A source that cannot be had is named in the
verdict, with the reason; `gpualert doctor` says so beforehand, and what would make it work.

With 8 GPUs, beside a training that prints a line a second, the sources take 0.23 % of one core, 8 s
of CPU an hour, and what NVIDIA's driver takes for its answers; 10 MB are on the disk after a day,
less than 20 MB after 30. `make bench` measures that (rows `observe` and `telemetry`).

"""
WARNINGS_HEAD = """\
# Warnings while a run goes on

Made from `gpualert_common/diagnose/phenomena/*/*_warning.py` and
`gpualert_common/diagnose/thresholds.py` by `make docs`; do not edit.

```sh
gpualert run --warn -- python train.py     # or warn = true in a file, or GPUALERT_WARN=true
```

Every few seconds a run that has lasted for more than one is judged by what was seen of it so far,
by its output and by the [evidence](evidence.md) beside it. What begins to be wrong, and what
recovers, goes into the record; with `--warn` people are told at once, by the
[channels](channels.md) that hear of the end, too.

* **Once for each kind** in a run, also where it comes and goes.
* **Once for one cause**: what follows, within an hour, from something that people were told of
  (GPUs that idle and a log that is silent after an Xid) is written down as a part of it, and not
  told again.
* **Taken back at the end**: the message about the end, and `warnings` in the verdict, say of each
  whether it recovered ("withdrawn"), still held, or came to what it foretold. Where somebody was
  warned that message comes also when the run ended well.
* **Never in the way.** A sender of its own has ten minutes for it. What it could not send by the
  end of the run is not sent any more, since the end is told.

A warning is an event of the record (`events.jsonl`), at most twenty-one of a kind; the last
three fields stand in the first one only:

| field | |
|---|---|
| `at` | when it was noticed, in seconds since the epoch |
| `event` | `warning_raised` or `warning_recovered` |
| `kind` | one of those below |
| `text` | what is wrong and since when, for people |
| `says`, `since` | the same apart |
| `part_of` | the kind that it follows from, or null |
| `news` | true where people are told, if they asked for that |
| `shows` | what was seen, as in a verdict |
| `do` | what can be done |

In a verdict the kind is `early_KIND`; the Message-ID is made of the run and the kind. A kind that
could not be judged leaves the event `warning_failed`.

"""
ACCURACY_HEAD = """\
# Accuracy of the classifier

Made from `corpus/results.json` and `corpus/first_contact.jsonl` by `make docs`; do not edit. A test
fails if a change of the rules makes these figures untrue.

The corpus has logs of programs that really failed, and logs composed after documented formats.
[The corpus](corpus.md) describes its labels, the frozen origins, and how each figure is computed.
No rule is tuned to a frozen origin. At **first contact** each origin is new to the rules of that
day. Intervals are bootstrap intervals of 95 %; the p-values are those of McNemar's exact test
against the baselines of the paper.

"""


def help_text(command: str) -> str:
    """Return what ``gpualert COMMAND --help`` prints at 80 columns."""
    words = command.split()
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        build_parser(command.partition(" ")[0]).parse_args([*words, "--help"])
    return printed.getvalue()


def listed_in(text: str) -> list[str]:
    """Return the commands, or the actions of a command, that a help text lists."""
    return re.findall(r"^    ([a-z-]+)(?: |$)", text, re.MULTILINE) if "..." in text else []


def help_sections(command: str) -> Iterator[str]:
    """Yield the help of a command and of its actions, each as a section."""
    text = help_text(command)
    yield f"## {f'gpualert {command}'.strip()}\n\n```text\n{text.rstrip()}\n```\n"
    for name in [] if command.startswith("run") else listed_in(text):
        yield from help_sections(f"{command} {name}".strip())


def cli_page() -> str:
    """Return the page of all commands."""
    return CLI_HEAD + "\n".join(help_sections(""))


def configuration_page() -> str:
    """Return the page of all options."""
    rows = "".join(option_row(option) for option in OPTIONS.values())
    return CONFIGURATION_HEAD + rows


def option_row(option: Option) -> str:
    """Return an option's row: where it may be given, its default and its meaning."""
    places = [face for face in option.faces if face != Face.CLI]
    flag = f"`{option.flag}`" if Face.CLI in option.faces else "-"
    variable = f"`{option.variable}`" if option.faces else "-"
    meaning = f"{option.sentence} {option.details}".strip()
    return (
        f"| `{option.name}` | {flag} | {variable} | `{option.default_text}` "
        f"| {', '.join(places) or '-'} | {meaning} |\n"
    )


def contributing_page() -> str:
    """Return CONTRIBUTING.md with its table of floors made anew."""
    floors = f"<!-- floors -->\n{format_floors()}\n<!-- end -->"
    return FLOORS_BLOCK.sub(lambda _: floors, CONTRIBUTING.read_text())


def readme_page() -> str:
    """Return the README with its figures of accuracy made anew."""
    figures = f"<!-- accuracy -->\n{format_kept_summary(CORPUS)}\n<!-- end -->"
    return ACCURACY_BLOCK.sub(lambda _: figures, README.read_text())


def cause_page(rule: Rule) -> str:
    """Return the page of one cause: the words of its verdict, and the lines that it is seen by."""
    words = rule.words
    parts = [
        f"# {rule.id}",
        f"Made from `rules/{rule.file}` by `make docs`; do not edit. [All causes](../rules.md).",
        f"*{words.headline[-1]}*",
        words.implies[-1],
        facts_of(rule),
    ]
    for title, texts in (("It cannot decide", words.cannot_decide), ("What to do", words.do)):
        if texts:
            parts.append(f"{title}:\n\n" + "\n".join(f"- {text}" for text in texts))
    parts += [case_section(case) for case in rule.cases]
    if rule.patterns:
        parts.append("## Lines that are seen")
        parts += [pattern_section(rule, pattern) for pattern in rule.patterns]
    if rule.exceptions:
        names = ", ".join(f"`{name}`" for name in rule.exceptions)
        parts.append(f"Exceptions that mean it when their message says nothing better: {names}.")
    if rule.raised_in:
        names = ", ".join(
            sorted({f"`{name}`" for one in rule.raised_in for name in one.exceptions})
        )
        parts.append(f"By the place where they were raised it may be told from {names}.")
    parts.append("Read in: " + "; ".join(rule.sources) + f". Since {rule.since}.")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def facts_of(rule: Rule) -> str:
    """Return family, attribution and retry of a rule in one line."""
    family = f"Family {rule.family}" if rule.family else "No family of its own"
    return f"{family}; fault of: {rule.attribution}; retry: {rule.retry}."


def case_section(case: RuleText) -> str:
    """Return what is told in a special case of a cause."""
    when = ", ".join(f"{name} is `{value}`" for name, value in case.when)
    told = [*case.headline[-1:], *case.implies[-1:], *case.do]
    return f"When {when}:\n\n" + "\n".join(f"- {text}" for text in told)


def pattern_section(rule: Rule, pattern: RulePattern) -> str:
    """Return the lines that a pattern sees, and those that look alike and are not meant."""
    samples = rule.samples[pattern.name]
    only = ", only in an exception" if pattern.where == "exception" or pattern.raised_in else ""
    name = pattern.name.replace("_", " ")
    seen = "\n".join(f"- {code(line)}" for line in samples.hits[:3])
    return f"**{name}** ({pattern.role}{only})\n\n{seen}\n\nnot: {code(samples.near_misses[0])}"


def code(text: str) -> str:
    """Return the first line of a text as code that may stand in a cell of a Markdown table."""
    line = text.strip().splitlines()[0].replace("|", "\\|")
    fence = "``" if "`" in line else "`"
    return f"{fence}{line}{fence}"


def rules_page(rules: Sequence[Rule]) -> str:
    """Return the index of all rules, in their order."""
    return RULES_HEAD + "".join(
        f"| [{rule.id}](causes/{rule.id}.md) | {rule.family or '-'} | {rule.attribution} "
        f"| {rule.retry} | {rule.words.headline[-1]} |\n"
        for rule in rules
    )


def kind_section(kind: SecretKind) -> str:
    """Return the part of the page that shows what is left of lines with one kind of secret."""
    masked = (
        expand_sample(kind.samples[pattern.name].hits[0]).mask(kind.id) for pattern in kind.patterns
    )
    lines = "\n".join(f"- {code(line)}" for line in masked)
    told = "Documented in: " + "; ".join(kind.sources) + f". Since {kind.since}."
    return f"## {kind.id}\n\n{kind.title}. Seen in lines that become:\n\n{lines}\n\n{told}\n"


def redaction_page() -> str:
    """Return the page of all kinds of secrets."""
    kinds = sorted(load_secrets(ROOT / "rules" / "secrets", samples=True), key=lambda kind: kind.id)
    table = "".join(f"| [{kind.id}](#{kind.id}) | {kind.title} |\n" for kind in kinds)
    return REDACTION_HEAD + table + "\n" + "\n".join(kind_section(kind) for kind in kinds)


def channel_section(kind: str) -> str:
    """Return the part of the page on one kind of channel, in the words of its own module."""
    channel = channel_class(kind)
    rows = "\n".join(
        f"| `{key}` | {channel_note(channel, key)} | {help_text} |"
        for key, (_parse, help_text) in channel.KEYS.items()
    )
    told = inspect.getdoc(sys.modules[channel.__module__])
    return f"## {kind}\n\n{told}\n\n| setting | | meaning |\n|---|---|---|\n{rows}\n"


def channel_note(channel: Any, key: str) -> str:
    """Return what a setting is beside its meaning: required, secret, or nothing of that."""
    notes = ("required", key in channel.REQUIRED), ("secret", key in channel.SECRET)
    return ", ".join(note for note, holds in notes if holds)


def channels_page() -> str:
    """Return the page of all kinds of channels."""
    return CHANNELS_HEAD + "\n".join(channel_section(kind) for kind in channel_kinds())


def told_by(module: str) -> str:
    """Return what a module says of itself, without its first line's full stop as a title."""
    return inspect.getdoc(sys.modules[module]) or ""


def evidence_page() -> str:
    """Return the page of all sources, families and thresholds."""
    parts = ["## Sources"]
    for name in source.source_names():
        found = source.source_class(name)
        parts += [f"### {name}", told_by(found.__module__), f"Decides: {found.decides}."]
    parts += ["## Earlier runs", told_by(regression.__name__)]
    parts += ["## Families", "What each looks for, beside the lines that the log has of it."]
    for name, judge in phenomena.families().items():
        parts += [f"### {name.replace('_', ' ')}", told_by(judge.__module__)]
    rows = "".join(
        f"| `{name}` | {value:g} {value.unit} | {value.reason} | {value.source} |\n"
        for name, value in thresholds.every().items()
    )
    table = f"| | value | why | source |\n|---|---|---|---|\n{rows}"
    parts += ["## Thresholds", table]
    return EVIDENCE_HEAD + "\n\n".join(part.strip() for part in parts) + "\n"


def warnings_page() -> str:
    """Return the page of all kinds of warnings, each with its numbers."""
    known = thresholds.every()
    parts = []
    for name, kind in phenomena.warning_kinds().items():
        module = sys.modules[kind.__name__]
        used = re.findall(r"thresholds\.([A-Z_]+)", inspect.getsource(module))
        rows = "".join(
            f"| `{one}` | {known[one]:g} {known[one].unit} | {known[one].reason} |\n"
            for one in dict.fromkeys(used)
        )
        advice = "\n".join(f"- {text}" for text in kind.DO)
        parts += [f"## {name.replace('_', ' ')}", told_by(module.__name__)]
        parts += [f"| | value | why |\n|---|---|---|\n{rows}"] if rows else []
        parts += [f"What to do:\n\n{advice}", followed_by(kind)]
    return WARNINGS_HEAD + "\n\n".join(part.strip() for part in parts if part) + "\n"


def followed_by(kind: phenomena.WarningKind) -> str:
    """Return what a kind of warning follows from, and foretells, in sentences."""
    after = " or ".join(f"`{name}`" for name in sorted(kind.FOLLOWS))
    causes = ", ".join(f"[{name}](causes/{name}.md)" for name in sorted(kind.FORETELLS))
    told = f"After {after} it is a part of that. " if after else ""
    return f"{told}It foretells {causes}."


def pages() -> dict[Path, str]:
    """Return each page that is made, and what should be in it."""
    rules = load_rules(ROOT / "rules", samples=True).rules
    return {
        README: readme_page(),
        CONTRIBUTING: contributing_page(),
        RULES_PAGE: rules_page(rules),
        **{CAUSES / f"{rule.id}.md": cause_page(rule) for rule in rules},
        REDACTION_PAGE: redaction_page(),
        CHANNELS_PAGE: channels_page(),
        EVIDENCE_PAGE: evidence_page(),
        WARNINGS_PAGE: warnings_page(),
        CLI_PAGE: cli_page(),
        CONFIGURATION_PAGE: configuration_page(),
        ACCURACY_PAGE: ACCURACY_HEAD + format_kept_tables(CORPUS),
    }


def stale(made: dict[Path, str]) -> list[Path]:
    """Return the pages whose file is absent or says something else."""
    return [path for path, text in made.items() if not path.exists() or path.read_text() != text]


def main() -> int:
    """Write the stale pages, or name them."""
    parser = argparse.ArgumentParser(description="Make the generated parts of the papers.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    options = parser.parse_args()
    made = pages()
    for path in sorted(set(CAUSES.glob("*.md")) - made.keys()):
        if options.check:
            sys.exit(f"{path.relative_to(ROOT)} is of no rule; run: make docs")
        path.unlink()
    for path in stale(made):
        name = path.relative_to(ROOT)
        if options.check:
            print(f"{name} is stale; run: make docs", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path])
            print(f"{name} written")
    return 1 if options.check and stale(made) else 0


if __name__ == "__main__":
    sys.exit(main())
