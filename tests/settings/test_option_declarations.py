"""Every option is declared once, and every place where it may be given has it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from gpualert_common import run
from gpualert_common.cli.arguments import build_parser
from gpualert_common.record.record import Record, describe
from gpualert_common.settings import OPTIONS, Interface, option_names
from gpualert_common.spec import RunSpec

ROOT = Path(__file__).parents[2]
OPERATOR = ROOT / "airflow_provider/gpualert_provider/operators/gpualert.py"
TASK = ROOT / "prefect_collection/prefect_gpualert/tasks.py"
BLOCK = ROOT / "prefect_collection/prefect_gpualert/operation.py"

OWN_ARGUMENTS = {"command", "cwd", "env", "name"}
"""Arguments of a single run, which are no options."""


def arguments_of(file: Path, function: str) -> set[str]:
    """Return the names of a function's arguments, for an engine that is not installed here."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    raise AssertionError(function)


def attributes_of(file: Path, name: str) -> set[str]:
    """Return the names of the annotated attributes of a class."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef) and node.name == name:
            fields = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
            return {field.id for field in fields if isinstance(field, ast.Name)}
    raise AssertionError(name)


def test_function() -> None:
    """``run()`` accepts exactly its options."""
    assert set(inspect.signature(run).parameters) - OWN_ARGUMENTS == set(
        option_names(Interface.API)
    )


def test_flags() -> None:
    """``gpualert run`` has a flag for each of its options."""
    options = build_parser("run").parse_args(["run", "--", "true"])
    given = {name for name in vars(options) if name in OPTIONS}
    assert given == set(option_names(Interface.CLI))


def test_operator() -> None:
    """Airflow's operator takes its options, and keeps each as an attribute."""
    arguments = arguments_of(OPERATOR, "__init__")
    assert arguments & OPTIONS.keys() == set(option_names(Interface.AIRFLOW))
    source = OPERATOR.read_text()
    assert [
        name for name in option_names(Interface.AIRFLOW) if f"self.{name} = {name}" not in source
    ] == []


def test_task_and_block() -> None:
    """Prefect's task and its block take the same options."""
    options = set(option_names(Interface.PREFECT))
    assert arguments_of(TASK, "gpualert_run") & OPTIONS.keys() == options
    assert attributes_of(BLOCK, "TrainingOperation") & OPTIONS.keys() == options


@pytest.mark.parametrize("name", OPTIONS)
def test_declaration(name: str) -> None:
    """A default passes its own parser, and a field of the spec exists."""
    option = OPTIONS[name]
    if option.default is not None:
        assert option.parse(option.default) == option.default
    assert option.spec_field in {"", *RunSpec.__slots__}, "add the field to RunSpec (spec.py)"


def test_options_of_a_run_are_recorded(tmp_path: Path) -> None:
    """spec.json has every option of the spec except those that only place the record.

    The job directory is a part of its ``job``.
    """
    record = Record.create(str(tmp_path / "record"), sync=False)
    stored = describe(RunSpec(["true"]), record).keys()
    record.close()
    fields = {option.spec_field for option in OPTIONS.values()} - {""}
    missing = fields - stored - {"state_dir", "log_reserve_bytes", "sync", "job_dir"}
    assert missing == set(), "add the field to describe() (record/record.py)"
