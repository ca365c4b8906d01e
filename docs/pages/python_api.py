"""Page of the Python API: signatures and docstrings, read from the source without importing it.

The operator and the task are described, too, and their engines need not be installed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence

from docs.pages.markdown import ROOT, join_parts
from gpualert_common.structs import Struct

HEAD = """\
# Python API

Made from the docstrings by `make docs`; do not edit. What this page does not name may change
without notice.

```python
from gpualert_common import run

result = run(["python", "train.py"], timeout="12h")
if result.exit_code != 0 and result.verdict is not None:
    print(result.verdict.headline)
    for claim in result.verdict.shows:
        print("-", claim.claim, claim.where)
```

Any record can be read by its path, also while the run is in progress (`gpualert runs --json` lists
the paths):

```python
from gpualert_common.record import Record

record = Record.open("/home/me/.local/state/gpualert/runs/RUN_ID")
print(record.state, record.log_paths)
if record.verdict is not None:
    print(record.verdict.cause)
```
"""

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_PARAMETER = re.compile(r"^(?::param )?(\w+): ")
_LONGEST_LINE = 88
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Entry(Struct, frozen=True):
    """A class or function of the page: how it is imported, its file, and its public members."""

    module: str
    name: str
    file: str
    members: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Heading of its section."""
        return f"{self.name}" if self.members else f"{self.name}()"


_RECORD = (
    *("open", "close", "state", "spec", "logs", "log_paths", "log_path"),
    *("events", "event", "ending", "verdict", "is_verdict_pending", "leader_pid"),
)
_SECTIONS = {
    "The core": (
        Entry("gpualert_common", "run", "gpualert_common/api.py"),
        Entry("gpualert_common", "RunResult", "gpualert_common/api.py", ("log_path", "log_paths")),
        Entry(
            "gpualert_common.record", "Record", "gpualert_common/record/record.py", _RECORD
        ),
    ),
    "Airflow": (
        Entry(
            "gpualert_provider.operators.gpualert",
            "GPUAlertOperator",
            "airflow_provider/gpualert_provider/operators/gpualert.py",
            ("__init__",),
        ),
        Entry(
            "gpualert_provider.notifications.gpualert",
            "GPUAlertNotifier",
            "airflow_provider/gpualert_provider/notifications/gpualert.py",
            ("__init__",),
        ),
    ),
    "Prefect": (
        Entry(
            "prefect_gpualert", "gpualert_run", "prefect_collection/prefect_gpualert/tasks.py"
        ),
        Entry(
            "prefect_gpualert",
            "TrainingOperation",
            "prefect_collection/prefect_gpualert/operation.py",
            ("run", "trigger", "close"),
        ),
        Entry(
            "prefect_gpualert",
            "TrainingRun",
            "prefect_collection/prefect_gpualert/training_run.py",
            ("pid", "return_code", "log_path", "verdict", "follow", "wait_for_completion",
             "fetch_result", "stop"),
        ),
    ),
}  # fmt: skip
_ERRORS = ("UsageError", "ConfigError", "RuleError", "NoDurableLogError", "RecordError")


def make_python_api_page() -> str:
    """Return the page of the Python API."""
    parts = [HEAD]
    for title, entries in _SECTIONS.items():
        parts.append(f"## {title}")
        for entry in entries:
            parts += _entry_section(entry)
        if title == "The core":
            parts += _error_section()
    return join_parts(parts)


def _entry_section(entry: Entry) -> Iterator[str]:
    definition = _find_definition(entry.file, entry.name)
    yield f"### {entry.title}"
    yield f"`from {entry.module} import {entry.name}`"
    if not isinstance(definition, ast.ClassDef):
        yield _format_signature(definition)
        yield format_docstring(definition)
        return
    members = dict(_list_members(entry.file, definition))
    constructor = members.get("__init__")
    if constructor is not None and "__init__" in entry.members:
        yield _format_signature(constructor, name=entry.name)
    yield format_docstring(definition, constructor)
    rows = [_member_row(members[name]) for name in entry.members if name != "__init__"]
    if rows:
        yield "\n".join(["| member | |", "|---|---|", *rows])


def _error_section() -> Iterator[str]:
    yield "### Errors"
    yield "In `gpualert_common.errors`; all are a `GPUAlertError`."
    rows = (
        f"| `{name}` | {_first_paragraph(_find_definition('gpualert_common/errors.py', name))} |"
        for name in _ERRORS
    )
    yield "\n".join(["| error | meaning |", "|---|---|", *rows])


def _find_definition(file: str, name: str) -> Definition:
    """Return the class or function of that name at the top of a file."""
    tree = ast.parse((ROOT / file).read_text())
    return next(one for one in tree.body if isinstance(one, Definition) and one.name == name)


def _list_members(file: str, definition: ast.ClassDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the methods of a class, those of its base classes in the same folder before its own."""
    folder = (ROOT / file).parent
    for base in definition.bases:
        path = folder / f"{ast.unparse(base).lower()}.py"
        if path.exists():
            inherited = str(path.relative_to(ROOT))
            above = _find_definition(inherited, ast.unparse(base))
            if isinstance(above, ast.ClassDef):
                yield from _list_members(inherited, above)
    for one in definition.body:
        if isinstance(one, ast.FunctionDef):
            yield one.name, one


def _member_row(member: ast.FunctionDef) -> str:
    """Return the row of a method or property: its call and its docstring."""
    decorators = {ast.unparse(one) for one in member.decorator_list}
    text = " ".join(format_docstring(member).split())
    if "property" in decorators:
        return f"| `{member.name}` | {text} |"
    names = ", ".join(_list_names(member, without_self=True))
    return f"| `{member.name}({names})` | {text} |"


def _format_signature(function: Definition, name: str | None = None) -> str:
    """Return the call of a function as code; one argument per line where one line is too long."""
    assert not isinstance(function, ast.ClassDef)
    arguments = _split_arguments(_without_self(function.args))
    result = f" -> {ast.unparse(function.returns)}" if function.returns and name is None else ""
    name = name or function.name
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) > _LONGEST_LINE:
        rows = "".join(f"    {argument},\n" for argument in arguments)
        line = f"{name}(\n{rows}){result}"
    return f"```python\n{line}\n```"


def _without_self(arguments: ast.arguments) -> ast.arguments:
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    return arguments


def _split_arguments(arguments: ast.arguments) -> Sequence[str]:
    """Return the arguments of a signature, each as text."""
    first_default = len(arguments.args) - len(arguments.defaults)
    found = [
        _format_argument(one, arguments.defaults[number - first_default])
        if number >= first_default
        else _format_argument(one, None)
        for number, one in enumerate(arguments.args)
    ]
    if arguments.kwonlyargs:
        found.append("*")
    found += map(_format_argument, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        found.append(f"**{arguments.kwarg.arg}")
    return found


def _format_argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default else "")


def format_docstring(definition: Definition, signature: ast.FunctionDef | None = None) -> str:
    """Return a docstring as Markdown; its lines about arguments are a list.

    The arguments are those of *signature*, or of the function itself, or fields of the class.
    """
    text = _ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2]}`", _read_docstring(definition))
    text = re.sub(r"(?<=[.;:])  +", " ", text.replace("``", "`"))
    names = _list_names(signature or definition)
    lines: list[str] = []
    is_in_list = False
    for line in text.splitlines():
        stripped = line.strip()
        parameter = _PARAMETER.match(stripped)
        if parameter and parameter[1] in names:
            if not is_in_list and lines and lines[-1]:
                lines.append("")
            lines.append(f"- `{parameter[1]}`: {stripped[parameter.end() :]}")
            is_in_list = True
        elif is_in_list and stripped and line.startswith(" "):
            lines[-1] += f" {stripped}"
        else:
            is_in_list = False
            lines.append(line)
    return "\n".join(lines)


def _read_docstring(definition: Definition) -> str:
    """Return the docstring of a definition, without its examples."""
    return inspect.cleandoc(ast.get_docstring(definition) or "").partition("\nExamples:\n")[0]


def _first_paragraph(definition: Definition) -> str:
    return " ".join(format_docstring(definition).partition("\n\n")[0].split())


def _list_names(definition: Definition, *, without_self: bool = False) -> list[str]:
    """Return the names of the arguments of a function, or of the fields of a class."""
    if isinstance(definition, ast.ClassDef):
        fields = (one for one in definition.body if isinstance(one, ast.AnnAssign))
        return [one.target.id for one in fields if isinstance(one.target, ast.Name)]
    names = [one.arg for one in (*definition.args.args, *definition.args.kwonlyargs)]
    return [name for name in names if not without_self or name not in ("self", "cls")]
