"""Which runs are of the same training: a command without what changes from one run to the next.

What is left out, and how sure it has to look, so that two trainings never count as one:

================  =================================================================================
left out          where
================  =================================================================================
seeds             an option ``seed`` or ``..._seed`` with a number
ports, peers      an option ``port`` or ``..._port`` with a number; the address of the rendezvous,
                  its id, and the number of this node
ids of runs       ``run_id``, ``job_id`` and their like
resuming          an option with ``resume`` or ``continue`` in its name, ``ckpt_path``,
                  ``init_from=resume``; a word behind it only where it looks like a checkpoint
moments           a date with a time of day, in any word; so are UUIDs, Airflow's ids of runs, and
                  what ``mktemp`` makes in /tmp, and engines anywhere
dates, counters   also dates alone, Unix times, job numbers, hexadecimal ids and ``version_3``:
                  behind ``>`` and ``tee``, in the name of the run, and in options that say where
                  output goes, what the run is called, or which date it is for
which GPUs        ``CUDA_VISIBLE_DEVICES`` counts by how many there are
================  =================================================================================

Everything else tells trainings apart: every other option and its value, the order of the words, the
interpreter, the number of processes, the directory, the run's own name.  An option is read as
``--name value``, ``--name=value`` and ``name=value``, with ``-`` for ``_``, also behind dots; what
a shell is given by ``-c`` is read as words.  What stands in the files that a command names, and in
the environment that it inherits, is not looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpualert_common.command_options import MAX_WORD_CHARS, SCRIPT_FLAG, split_script
from gpualert_common.shells import names_shell

_SEED_OR_PORT = re.compile(r"(?:.+_)?(?:seed|port)|seed_everything")
_IDS = re.compile(
    r"(?:wandb|wandb_run|mlflow_run|trial|job|slurm_job|rdzv)_id|jobid"
    r"|rdzv_endpoint|master_addr|main_process_ip|(?:node|machine|local)_rank"
)
_RESUMING = re.compile(r"(?:.+_)?(?:(?:auto)?resum(?:e|ed|ing)|continue)(?:_.+)?")
_DEVICES = re.compile(r"(?:cuda|hip|nvidia)_visible_devices")

_OUTPUT = re.compile(
    r"out|(?:out|log|save|work)dir|logfile|save|save_folder|default_root_dir|run_id|as_of"
    r"|(?:run|exp|experiment|job|trial|wandb|wandb_run)_name|(?:run|execution|logical)_date"
    r"|(?:runs?|work|exps?|experiments?|checkpoints?|ckpt)_(?:dir|directory|folder)"
    r"|(?:.+_)?(?:outputs?|logs?|logging|saved?|results?|artifacts?|reports?|tensorboard|tb)"
    r"_(?:dir|directory|folder|root|path|file|prefix)"
)
_OUTPUT_WHOLE = re.compile(r"name|tag|date|day|timestamp|hydra\.(?:run|sweep)\.dir")
"""Behind a dot the former are of whatever stands before it, such as a dataset."""

_NUMBER = re.compile(r"[+-]?\d+")
_CHECKPOINT = re.compile(
    r"(?i)true|false|yes|no|auto|none|latest|last|best|hpc|must|allow|never|[01]"
    r"|.*(?:checkpoint|ckpt).*|.*\.(?:pth?|bin|safetensors|tar|pkl|h5|keras|npz|msgpack)"
)

_ALONE, _END = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
_DATE = r"20[1-4]\d(?P<d>[-_./]?)(?:0[1-9]|1[0-2])(?P=d)(?:0[1-9]|[12]\d|3[01])"
_TIME = (
    r"(?:[01]\d|2[0-3])(?:(?P<t>[-_:.h])[0-5]\d(?:(?P=t)[0-5]\d)?|[0-5]\d[0-5]\d)(?:[.,]\d{1,9})?"
)
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)?"
_MOMENT = rf"{_DATE}(?:[-_T ./]{{1,2}}{_TIME}{_ZONE}|[0-2]\d[0-5]\d[0-5]\d)"
_AIRFLOW = r"(?:scheduled|manual|backfill|asset_triggered|dataset_triggered)__"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

_MOMENTS = [
    re.compile(rf"{_ALONE}{_AIRFLOW}{_MOMENT}(?:_[0-9A-Za-z]{{8}})?{_END}"),
    re.compile(rf"(?<!\d){_MOMENT}{_END}"),
    re.compile(rf"{_ALONE}{_MONTH}\d\d?_\d\d-\d\d-\d\d{_END}"),  # TensorBoard's own
    re.compile(rf"{_ALONE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_END}"),
    re.compile(r"(?<=/tmp/)[a-z]{0,12}tmp(?:[a-z0-9]\w{7}|\.[0-9A-Za-z]{10})(?!\w)"),
    re.compile(r"(?<![^/])(?:airflowtmp[a-z0-9_]{8}|tmp[a-z0-9_]{8}prefect)(?!\w)"),
    re.compile(r"(?<![^/])tmp(?=[a-z_]*\d)[a-z0-9_]{8}(?=\.sh$)"),  # Airflow's, of a template
]
"""What no two runs share, wherever it stands."""
_DATES = [
    *_MOMENTS,
    re.compile(rf"{_ALONE}{_DATE}(?:[-_T]\d{{4}})?{_END}"),
    re.compile(rf"{_ALONE}\d\d(?P<t>[-:])[0-5]\d(?P=t)[0-5]\d{_END}"),
    re.compile(rf"{_ALONE}1[4-9]\d{{8}}\.\d{{1,9}}{_END}"),
    re.compile(rf"{_ALONE}\d{{7,}}{_END}"),
    re.compile(rf"{_ALONE}(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,40}}{_END}"),
    re.compile(rf"(?i){_ALONE}(?:version|attempt|try|retry|restart|job|slurm|pid)[-_.]?\d+{_END}"),
]
"""What also changes in the names of outputs; elsewhere it may be data, or a size."""
_SEVERAL = re.compile(r"\*(?:[-_./:]*\*)+")

_WRITES = (">", ">>", "&>", "&>>", "tee")
_ASSIGNMENT = re.compile(r"(?s)(?:--?|\+\+?)?([A-Za-z][\w.-]*)=(.*)")
_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")


def fingerprint(command: Sequence[str], cwd: str | None, name: str | None) -> str:
    """32 hexadecimal digits, the same for every run of one training: see the module."""
    known = [
        list(_words(command)),
        _without(_MOMENTS, os.path.normpath(cwd)) if cwd else "",
        _without(_DATES, name or ""),
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _words(command: Sequence[str]) -> Iterator[str | list[Any]]:
    """What is left of the words; a list stands for those of a shell's script."""
    words = list(reversed(command))
    passing, is_shell = _MOMENTS, False
    while words:
        word = words.pop()
        assignment, flag = _ASSIGNMENT.fullmatch(word), _FLAG.fullmatch(word)
        if assignment is not None:
            key, value = _key(assignment[1]), assignment[2]
            if not _resumes(key) and not _goes(key, value):
                yield word[: assignment.start(2)] + _left(key, value)
            passing = _MOMENTS
        elif flag is None:
            yield _without(passing, word)
            is_shell = is_shell or names_shell(word)
            passing = _DATES if word in _WRITES else _MOMENTS
        elif is_shell and words and SCRIPT_FLAG.fullmatch(word):
            yield word
            yield list(_words(split_script(words.pop())))
        elif words and _goes(_key(flag[1]), words[-1]):
            words.pop()
        elif not _resumes(_key(flag[1])):
            yield word
            passing = _DATES if _is_of_output(_key(flag[1])) else _MOMENTS


def _key(name: str) -> str:
    return name.lower().replace("-", "_")


def _resumes(key: str) -> bool:
    return _RESUMING.fullmatch(_last(key)) is not None


def _goes(key: str, value: str) -> bool:
    """True where an option with this value makes no other training."""
    key = _last(key)
    if _SEED_OR_PORT.fullmatch(key):
        return _NUMBER.fullmatch(value) is not None
    if _IDS.fullmatch(key):
        return not value.startswith("-")
    if key in ("dist_url", "init_method"):  # the latter may also say how weights begin
        return "://" in value
    if key == "init_from":
        return value in ("resume", "scratch")
    if key == "ckpt_path" or _resumes(key):
        return _CHECKPOINT.fullmatch(value) is not None
    return False


def _left(key: str, value: str) -> str:
    if _DEVICES.fullmatch(key) and value not in ("", "-1", "all", "none", "void"):
        return f"{value.count(',') + 1} of them"
    return _without(_DATES if _is_of_output(key) else _MOMENTS, value)


def _is_of_output(key: str) -> bool:
    return bool(_OUTPUT_WHOLE.fullmatch(key) or _OUTPUT.fullmatch(_last(key)))


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _without(passing: Sequence[re.Pattern[str]], word: str) -> str:
    if len(word) > MAX_WORD_CHARS:
        return word
    for pattern in passing:
        word = pattern.sub("*", word)
    return _SEVERAL.sub("*", word)
