"""Fingerprint of a training: its command without the parts that change from run to run.

The omitted parts, and the conditions for that, so that two trainings never have one fingerprint:

================  =================================================================================
omitted           condition
================  =================================================================================
seeds             an option ``seed`` or ``..._seed`` with a number
ports, peers      an option ``port`` or ``..._port`` with a number; the address of the rendezvous,
                  its id, and the number of this node
ids of runs       ``run_id``, ``job_id`` and their like
resuming          an option with ``resume`` or ``continue`` in its name, ``ckpt_path``,
                  ``init_from=resume``; the next word only if it looks like a checkpoint
timestamps        a date with a time of day, in any word; also UUIDs, Airflow's run ids, names of
                  ``mktemp`` in /tmp, and temporary names of engines anywhere
dates, counters   also dates alone, Unix times, job numbers, hexadecimal ids and ``version_3``:
                  after ``>`` and ``tee``, in the name of the run, and in options for the place of
                  output, the name of the run, or its date
GPU numbers       of ``CUDA_VISIBLE_DEVICES`` only the number of GPUs counts
================  =================================================================================

Everything else distinguishes trainings: every other option and its value, the order of the words,
the interpreter, the number of processes, the directory, the run's own name.  An option has the form
``--name value``, ``--name=value`` or ``name=value``, with ``-`` for ``_``, also after dots.  The
script of a shell's ``-c`` is split into words.  The content of files that a command names, and the
inherited environment, do not count.
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
"""Not behind a dot: there ``name`` and the like belong to something else, such as a dataset."""

_NUMBER = re.compile(r"[+-]?\d+")
_CHECKPOINT = re.compile(
    r"(?i)true|false|yes|no|auto|none|latest|last|best|hpc|must|allow|never|[01]"
    r"|.*(?:checkpoint|ckpt).*|.*\.(?:pth?|bin|safetensors|tar|pkl|h5|keras|npz|msgpack)"
)

_START, _END = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
_DATE = r"20[1-4]\d(?P<d>[-_./]?)(?:0[1-9]|1[0-2])(?P=d)(?:0[1-9]|[12]\d|3[01])"
_TIME = (
    r"(?:[01]\d|2[0-3])(?:(?P<t>[-_:.h])[0-5]\d(?:(?P=t)[0-5]\d)?|[0-5]\d[0-5]\d)(?:[.,]\d{1,9})?"
)
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)?"
_TIMESTAMP = rf"{_DATE}(?:[-_T ./]{{1,2}}{_TIME}{_ZONE}|[0-2]\d[0-5]\d[0-5]\d)"
_AIRFLOW = r"(?:scheduled|manual|backfill|asset_triggered|dataset_triggered)__"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

_UNIQUE_PATTERNS = [
    re.compile(rf"{_START}{_AIRFLOW}{_TIMESTAMP}(?:_[0-9A-Za-z]{{8}})?{_END}"),
    re.compile(rf"(?<!\d){_TIMESTAMP}{_END}"),
    re.compile(rf"{_START}{_MONTH}\d\d?_\d\d-\d\d-\d\d{_END}"),  # TensorBoard's folders
    re.compile(rf"{_START}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_END}"),
    re.compile(r"(?<=/tmp/)[a-z]{0,12}tmp(?:[a-z0-9]\w{7}|\.[0-9A-Za-z]{10})(?!\w)"),
    re.compile(r"(?<![^/])(?:airflowtmp[a-z0-9_]{8}|tmp[a-z0-9_]{8}prefect)(?!\w)"),
    re.compile(r"(?<![^/])tmp(?=[a-z_]*\d)[a-z0-9_]{8}(?=\.sh$)"),  # Airflow's templated scripts
]
"""Texts that no two runs share, wherever they occur."""
_OUTPUT_PATTERNS = [
    *_UNIQUE_PATTERNS,
    re.compile(rf"{_START}{_DATE}(?:[-_T]\d{{4}})?{_END}"),
    re.compile(rf"{_START}\d\d(?P<t>[-:])[0-5]\d(?P=t)[0-5]\d{_END}"),
    re.compile(rf"{_START}1[4-9]\d{{8}}\.\d{{1,9}}{_END}"),
    re.compile(rf"{_START}\d{{7,}}{_END}"),
    re.compile(rf"{_START}(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,40}}{_END}"),
    re.compile(rf"(?i){_START}(?:version|attempt|try|retry|restart|job|slurm|pid)[-_.]?\d+{_END}"),
]
"""Texts that also change in names of outputs; elsewhere they may be data or sizes."""
_REPEATED_STARS = re.compile(r"\*(?:[-_./:]*\*)+")

_WRITE_WORDS = (">", ">>", "&>", "&>>", "tee")
_ASSIGNMENT = re.compile(r"(?s)(?:--?|\+\+?)?([A-Za-z][\w.-]*)=(.*)")
_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")


def compute_fingerprint(command: Sequence[str], cwd: str | None, name: str | None) -> str:
    """Return 32 hexadecimal digits, equal for all runs of one training: see the module."""
    known = [
        list(_reduce_words(command)),
        _replace_patterns(_UNIQUE_PATTERNS, os.path.normpath(cwd)) if cwd else "",
        _replace_patterns(_OUTPUT_PATTERNS, name or ""),
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _reduce_words(command: Sequence[str]) -> Iterator[str | list[Any]]:
    """Yield the words without their changing parts; a list holds those of a shell's script."""
    words = list(reversed(command))
    patterns, is_shell = _UNIQUE_PATTERNS, False
    while words:
        word = words.pop()
        assignment, flag = _ASSIGNMENT.fullmatch(word), _FLAG.fullmatch(word)
        if assignment is not None:
            key, value = _normalize_key(assignment[1]), assignment[2]
            if not _is_resuming(key) and not _is_dropped(key, value):
                yield word[: assignment.start(2)] + _reduce_value(key, value)
            patterns = _UNIQUE_PATTERNS
        elif flag is None:
            yield _replace_patterns(patterns, word)
            is_shell = is_shell or names_shell(word)
            patterns = _OUTPUT_PATTERNS if word in _WRITE_WORDS else _UNIQUE_PATTERNS
        elif is_shell and words and SCRIPT_FLAG.fullmatch(word):
            yield word
            yield list(_reduce_words(split_script(words.pop())))
        elif words and _is_dropped(_normalize_key(flag[1]), words[-1]):
            words.pop()
        elif not _is_resuming(_normalize_key(flag[1])):
            yield word
            patterns = (
                _OUTPUT_PATTERNS if _is_of_output(_normalize_key(flag[1])) else _UNIQUE_PATTERNS
            )


def _normalize_key(name: str) -> str:
    return name.lower().replace("-", "_")


def _is_resuming(key: str) -> bool:
    return _RESUMING.fullmatch(_get_last_part(key)) is not None


def _is_dropped(key: str, value: str) -> bool:
    """Return whether an option with this value does not change the training."""
    key = _get_last_part(key)
    if _SEED_OR_PORT.fullmatch(key):
        return _NUMBER.fullmatch(value) is not None
    if _IDS.fullmatch(key):
        return not value.startswith("-")
    if key in ("dist_url", "init_method"):  # the latter may also be a method for weights
        return "://" in value
    if key == "init_from":
        return value in ("resume", "scratch")
    if key == "ckpt_path" or _is_resuming(key):
        return _CHECKPOINT.fullmatch(value) is not None
    return False


def _reduce_value(key: str, value: str) -> str:
    if _DEVICES.fullmatch(key) and value not in ("", "-1", "all", "none", "void"):
        return f"{value.count(',') + 1} of them"
    return _replace_patterns(_OUTPUT_PATTERNS if _is_of_output(key) else _UNIQUE_PATTERNS, value)


def _is_of_output(key: str) -> bool:
    return bool(_OUTPUT_WHOLE.fullmatch(key) or _OUTPUT.fullmatch(_get_last_part(key)))


def _get_last_part(key: str) -> str:
    return key.rpartition(".")[2]


def _replace_patterns(patterns: Sequence[re.Pattern[str]], word: str) -> str:
    if len(word) > MAX_WORD_CHARS:
        return word
    for pattern in patterns:
        word = pattern.sub("*", word)
    return _REPEATED_STARS.sub("*", word)
