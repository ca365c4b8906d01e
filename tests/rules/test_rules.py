"""Every rule file is valid, and matched by its own samples.  The failing id is the file to open."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.causes import CAUSES
from gpualert_common.classify import Rule, load_rules, resolve, scan_file
from gpualert_common.classify.compiled_rules import compile_rules
from gpualert_common.classify.details import parse_memory_size
from gpualert_common.classify.rule_checks import check_rules
from gpualert_common.diagnose.paper_classes import CLASSES, paper_class
from gpualert_common.errors import RuleError
from gpualert_common.model import ExitFacts

RULES = load_rules(samples=True)
GOOD = """
id = "div_zero"
order = 1
family = "A1"
fault_class = "code"
attribution = "job"
retry = "after_fix"
since = "0.1.0"
sources = ["x"]
[verdict]
headline = "Division by zero"
implies = "x"
do = ["y"]
[[patterns]]
name = "python"
role = "root"
literal = "ZeroDivisionError"
re = '''ZeroDivisionError: (?P<what>\\w+)'''
[samples.python]
hits = ["ZeroDivisionError: division by zero"]
near_misses = ["except ZeroDivisionError"]
"""


def problems_of(tmp_path: Path, text: str, name: str = "div_zero") -> list[RuleError]:
    """Return the problems of a directory with this one file."""
    (tmp_path / f"{name}.toml").write_text(text)
    return check_rules(tmp_path)


def test_all_in_order() -> None:
    """The rules of this repository have no problems."""
    assert [str(problem) for problem in check_rules()] == []


def test_nothing_behind_the_samples() -> None:
    """A run reads the rule files without their samples, and still reads every rule whole."""
    read = load_rules()
    assert read.patterns == RULES.patterns
    assert [rule.raised_in for rule in read] == [rule.raised_in for rule in RULES]


@pytest.mark.parametrize("rule", RULES.rules, ids=[rule.file for rule in RULES])
def test_texts_are_complete(rule: Rule) -> None:
    """A rule's cause is in the list and its texts are complete."""
    assert rule.id in CAUSES
    assert rule.words.headline
    assert rule.words.implies
    assert rule.words.do


def test_classes_of_the_paper_have_rules() -> None:
    """Each of the paper's classes has its rule."""
    renamed = {"ram_oom": "host_oom", "nccl": "collective"}
    assert {renamed.get(name, name) for name in CLASSES} <= RULES.by_cause.keys()


def test_patterns_are_all_in_the_automaton() -> None:
    """All patterns are in the compiled automaton."""
    compiled = compile_rules(RULES)
    probes = [*compiled.line_probes.probes, *compiled.exception_probes.probes]
    names = {pattern.id for probe in probes for pattern in probe.patterns}
    assert names == {pattern.id for pattern in RULES.patterns if not pattern.where.is_weak}


LOGS = sorted((Path(__file__).parent / "logs").glob("*/*.log"))


@pytest.mark.parametrize("log", LOGS, ids=[f"{log.parent.name}/{log.name}" for log in LOGS])
def test_real_log(log: Path) -> None:
    """A log that PyTorch 2.13 wrote on CPU (paths shortened) has the cause of its folder's name.

    The number in the file's name is the exit status.
    """
    code = int(log.suffixes[0][1:])
    found = resolve([scan_file(log, RULES)], ExitFacts(code), RULES)
    assert found.cause == log.parent.name


def test_a_good_file_has_no_problems(tmp_path: Path) -> None:
    """The smallest complete rule is in order."""
    assert problems_of(tmp_path, GOOD) == []


_BROKEN = [
    ("unknown key", ("order = 1", "order = 1\nweight = 2"), "weight"),
    ("wrong type", ("order = 1", 'order = "1"'), "order"),
    ("a boolean is no integer", ("order = 1", "order = true"), "order"),
    ("missing key", ("order = 1\n", ""), "order"),
    ("unknown cause", ('id = "div_zero"', 'id = "division"'), "id"),
    ("unknown family", ('"A1"', '"A9"'), "family"),
    ("unknown fault class", ('"code"', '"bug"'), "fault_class"),
    ("missing fault class", ('fault_class = "code"\n', ""), "fault_class"),
    ("unknown role", ('role = "root"', 'role = "cause"'), "patterns[0].role"),
    ("not a version", ('since = "0.1.0"', 'since = "soon"'), "since"),
    ("not TOML", ("order = 1", "order = = 1"), "file"),
    (
        "unknown key of a pattern",
        ('role = "root"', 'role = "root"\nflags = "i"'),
        "patterns[0].flags",
    ),
    ("lookahead", ("ZeroDivisionError: (", "(?=Zero)ZeroDivisionError: ("), "patterns.python.re"),
    ("unbalanced", ("ZeroDivisionError: (", "ZeroDivisionError: (("), "patterns.python.re"),
    ("no near miss", ('["except ZeroDivisionError"]', "[]"), "samples.python"),
    (
        "a hit that does not",
        ("ZeroDivisionError: division by zero", "nothing"),
        "patterns.python.literal",
    ),
    (
        "a near miss that hits",
        ("except ZeroDivisionError", "ZeroDivisionError: x"),
        "samples.python.near_misses",
    ),
    ("samples of no pattern", ("[samples.python]", "[samples.other]"), "samples.other"),
    (
        "unknown placeholder",
        ('"Division by zero"', '["Division by {nothing}", "x"]'),
        "verdict.headline",
    ),
    ("broken placeholder", ('"Division by zero"', '"Division by {zero"'), "verdict.headline"),
    ("no plain headline", ('"Division by zero"', '"Division by {what}"'), "verdict.headline"),
]


@pytest.mark.parametrize(
    ("change", "key"), [row[1:] for row in _BROKEN], ids=[row[0] for row in _BROKEN]
)
def test_mistake_is_named(tmp_path: Path, change: tuple[str, str], key: str) -> None:
    """A mistake is reported with its file and key."""
    assert change[0] in GOOD
    problems = problems_of(tmp_path, GOOD.replace(*change, 1))
    assert ("div_zero.toml", key) in [(problem.file, problem.key) for problem in problems]


def test_the_file_is_named_after_its_cause(tmp_path: Path) -> None:
    """A file under another name is refused."""
    assert problems_of(tmp_path, GOOD, "zero")[0].key == "id"


def test_two_rules_of_one_order(tmp_path: Path) -> None:
    """Two rules never have the same order, so that precedence is defined."""
    (tmp_path / "assertion.toml").write_text(GOOD.replace("div_zero", "assertion"))
    assert [problem.key for problem in problems_of(tmp_path, GOOD)] == ["order"]


def test_loading_is_strict_by_default(tmp_path: Path) -> None:
    """By default a broken file raises an error."""
    (tmp_path / "div_zero.toml").write_text("order = ")
    with pytest.raises(RuleError, match=r"div_zero\.toml: file"):
        load_rules(tmp_path)


def test_a_live_run_survives_a_broken_file(tmp_path: Path) -> None:
    """With a list for problems the other files are still used."""
    (tmp_path / "assertion.toml").write_text("order = ")
    (tmp_path / "div_zero.toml").write_text(GOOD)
    broken: list[RuleError] = []
    assert [rule.id for rule in load_rules(tmp_path, broken=broken)] == ["div_zero"]
    assert [error.file for error in broken] == ["assertion.toml"]


def test_a_live_run_survives_without_rules(tmp_path: Path) -> None:
    """Without any rule there is a problem to report, and still a resolution."""
    broken: list[RuleError] = []
    rules = load_rules(tmp_path, broken=broken)
    assert broken
    assert resolve([], ExitFacts(1), rules).cause == "runtime_error"


def test_the_directory_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUALERT_RULES_DIR is the directory of the rules."""
    (tmp_path / "div_zero.toml").write_text(GOOD)
    monkeypatch.setenv("GPUALERT_RULES_DIR", str(tmp_path))
    assert load_rules().directory == tmp_path


def test_samples_are_left_out_of_a_run() -> None:
    """Loading for a run reads the same rules without their samples."""
    assert load_rules().patterns == RULES.patterns
    assert all(not rule.samples for rule in load_rules())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("91.60 GiB", 98354751078),
        ("16.00 MiB", 16 << 20),
        ("512 bytes", 512),
        ("4096", 4096),
        ("2.5GB", 2_500_000_000),
        ("1..2 GiB", None),
        ("many", None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    """Sizes as programs print them are read as bytes."""
    assert parse_memory_size(text) == size


def test_paper_class_of_an_exception() -> None:
    """An unknown cause of the paper has the class of its exception, if there is one."""
    assert paper_class(resolve([], ExitFacts(-9), RULES)) is None
    assert paper_class(resolve([], ExitFacts(-11), RULES)) == "segfault"
