"""The arguments of ``sbatch``: its options, and the script, in front of the arguments of that."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from gpualert_common.errors import SlurmError
from gpualert_common.structs import Struct, replace

_VALUE_LETTERS = frozenset("AabBcCdDeFGiJLmMnNopqStwx")
"""Short options of sbatch that take a value."""
_NO_VALUE = frozenset(
    (
        *("contiguous", "exclusive", "get-user-env", "help", "hold", "ignore-pbs"),
        *("nice", "no-kill", "no-requeue", "overcommit", "oversubscribe"),
        *("parsable", "propagate", "quiet", "reboot", "requeue", "share", "spread-job", "stepmgr"),
        *("test-only", "usage", "use-min-nodes", "verbose", "version", "wait"),
    )
)
"""Long options of sbatch without a value, or with one only after "="."""
_WITHOUT_JOB = frozenset(("help", "usage", "version", "test-only"))
_WITHOUT_JOB_LETTERS = frozenset("hV")
_MOST_SCRIPT_BYTES = 4 << 20
"""Slurm's own limit of a script, unless it is raised."""
_DIRECTIVE = "#SBATCH"
_COMPONENT = ":"
_COMPONENT_DIRECTIVES = ("hetjob", "packjob")


class SbatchOptions(Struct, frozen=True):
    """The options in front of the script, with the place of the script among the arguments.

    ``script_at`` is the number of arguments where there is none, so that sbatch reads stdin;
    ``has_wrap`` says that a command takes its place.  ``comment`` is the user's own, ``clusters``
    are those to which the job may go, None for the cluster of this machine.
    ``submits_nothing`` is true for --help and the like, ``waits`` for --wait; with
    ``has_components`` further options follow, for another component of a heterogeneous job.
    """

    script_at: int
    comment: str | None = None
    clusters: str | None = None
    has_wrap: bool = False
    submits_nothing: bool = False
    waits: bool = False
    has_components: bool = False

    @property
    def reads_stdin(self) -> bool:
        """True if the script comes from stdin."""
        return self.script_at < 0


def read_options(arguments: Sequence[str]) -> SbatchOptions:
    """Return the options of sbatch; an option that is not known is taken to have no value."""
    comment: str | None = None
    clusters: str | None = None
    has_wrap = submits_nothing = waits = False
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if argument == "--":
            index += 1
            break
        if not argument.startswith("-") or argument == "-":
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            if not equals and name not in _NO_VALUE:
                index += 1
                value = arguments[index] if index < len(arguments) else ""
            comment = value if name == "comment" else comment
            clusters = value if name in ("clusters", "cluster") else clusters
            has_wrap |= name == "wrap"
            submits_nothing |= name in _WITHOUT_JOB
            waits |= name == "wait"
        else:
            letters = argument[1:]
            submits_nothing |= letters[0] in _WITHOUT_JOB_LETTERS
            for at, letter in enumerate(letters):
                waits |= letter == "W"
                if letter in _VALUE_LETTERS:
                    is_next = at == len(letters) - 1  # its value is the next argument
                    index += is_next
                    value = "".join(arguments[index : index + 1]) if is_next else letters[at + 1 :]
                    clusters = value if letter == "M" else clusters
                    break
        index += 1
    script_at = index if index < len(arguments) or has_wrap else -1
    has_components = arguments[index : index + 1] == [_COMPONENT]
    return SbatchOptions(
        script_at, comment, clusters, has_wrap, submits_nothing, waits, has_components
    )


def find_refusal(arguments: Sequence[str], script: bytes | None, cwd: str | None) -> str:
    """Return the reason for which this job cannot be followed as one run; "" for others.

    *script* is one from stdin; one of the arguments is found from *cwd*.
    """
    options = read_options(arguments)
    path = arguments[options.script_at] if 0 <= options.script_at < len(arguments) else None
    if script is not None:
        directives = _parse_directives(script)
    elif path is not None and not options.has_wrap:
        directives = read_directives(os.path.join(cwd or "", path))
    else:
        directives = []
    if options.waits:
        return "--wait: gpualert sbatch waits for the job itself; leave it out"
    if any(one.waits for one in directives):
        return "#SBATCH --wait: gpualert sbatch waits for the job itself; remove it from the script"
    if options.has_components or any(one.has_components for one in directives):
        return (
            'a heterogeneous job (":" or #SBATCH hetjob) is several jobs, which cannot be followed '
            "as one run; submit it with sbatch"
        )
    return ""


def find_clusters(arguments: Sequence[str], script_path: str | None = None) -> list[str]:
    """Return the clusters to which a job may be submitted; "" is that of this machine.

    *script_path* is that of a script from stdin.  Raises SlurmError for all clusters.
    """
    options = read_options(arguments)
    asked = [options.clusters]
    asked += [os.environ.get(name) for name in ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")]
    asked += [one.clusters for one in reversed(_read_script(arguments, options, script_path))]
    names = next((one for one in asked if one), "")
    if names == "all":
        problem = "it cannot be decided if the job was submitted: it may be on any cluster"
        raise SlurmError(problem, is_late=True)
    return names.split(",")


def _read_script(
    arguments: Sequence[str], options: SbatchOptions, script_path: str | None
) -> list[SbatchOptions]:
    """Return the directives of the script, none for a command of --wrap."""
    if options.has_wrap:
        return []
    if script_path is None and 0 <= options.script_at < len(arguments):
        script_path = arguments[options.script_at]
    return [] if script_path is None else read_directives(script_path)


def read_directives(path: str) -> list[SbatchOptions]:
    """Return the options of each directive of a script; none if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return _parse_directives(file.read(_MOST_SCRIPT_BYTES))
    except OSError:
        return []


def _parse_directives(script: bytes) -> list[SbatchOptions]:
    found = []
    for line in script[:_MOST_SCRIPT_BYTES].decode("utf-8", "replace").splitlines():
        if line.startswith(_DIRECTIVE):
            try:
                words = shlex.split(line[len(_DIRECTIVE) :], comments=True)
            except ValueError:
                continue
            one = read_options(words)
            has_components = words[:1] in ([name] for name in _COMPONENT_DIRECTIVES)
            found.append(replace(one, has_components=has_components))
        elif line.strip() and not line.startswith("#"):
            break  # Slurm reads no directive behind the first command
    return found


def add_mark(arguments: Sequence[str], mark: str, script_path: str | None = None) -> list[str]:
    """Return the arguments with a comment that has *mark* behind the user's own comment.

    *script_path* is that of a script from stdin.  The comment stands in front of the script, so
    that it replaces the comment of an option and of the script.  No variable sets one: sbatch reads
    no SBATCH_COMMENT.
    """
    options = read_options(arguments)
    at = options.script_at if options.script_at >= 0 else len(arguments)
    comment = options.comment
    if comment is None:
        directives = _read_script(arguments, options, script_path)
        comment = next((one.comment for one in reversed(directives) if one.comment), None)
    whole = f"{comment} {mark}" if comment else mark
    before = list(arguments[:at])
    separator = [before.pop()] if before and before[-1] == "--" else []
    return [*before, "--parsable", f"--comment={whole}", *separator, *arguments[at:]]
