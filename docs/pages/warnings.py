"""Page of the warnings of a live run: every kind with its thresholds."""

from __future__ import annotations

import inspect
import re
import sys

from docs.pages.markdown import format_list, join_parts, read_docstring
from gpualert_common.diagnose import phenomena, thresholds

HEAD = """\
# Warnings during a run

Made from `gpualert_common/diagnose/phenomena/*/*_warning.py` and
`gpualert_common/diagnose/thresholds.py` by `make docs`; do not edit.

```sh
gpualert run --warn -- python train.py     # or warn = true in a file, or GPUALERT_WARN=true
```

When a run has lasted for more than a second, GPUAlert checks its output and the
[evidence](evidence.md) every few seconds. It records a warning when a problem begins, and again
when the problem is gone. With `--warn` it also sends the warning at once, to the
[channels](channels.md) of the run.

* **One message per kind** and run, even if the problem comes and goes.
* **One message per problem.** If a warning follows from another one within an hour (idle GPUs and a
  silent log after an Xid), it is recorded as a part of that one, and not sent.
* **A result at the end.** The final message, and `warnings` in the verdict, say whether the problem
  recovered ("withdrawn"), still lasted, or led to a failure. If a warning was sent, the final
  message is sent even if the run succeeds.
* **No delay of the run.** A separate process sends warnings, for at most ten minutes. Warnings that
  are not delivered when the run ends are dropped, because the final message contains them.

A warning is an event of the record (`events.jsonl`); at most 21 are recorded per kind. `news`,
`shows` and `do` are in the first event of a kind only:

| field | |
|---|---|
| `at` | time, in seconds since the epoch |
| `event` | `warning_raised` or `warning_recovered` |
| `kind` | one of the kinds below |
| `text` | the problem and the time when it began, for people |
| `says`, `since` | the same as two fields |
| `part_of` | the kind that it follows from, or null |
| `news` | true if it is sent where `warn` is set |
| `shows` | the evidence, as in a verdict |
| `do` | advice |

In a verdict the kind is `early_KIND`; the Message-ID consists of the run and the kind. If a kind
cannot be checked, the record has the event `warning_failed`.

"""


def make_warnings_page() -> str:
    """Return the page of all kinds of warnings, each with its thresholds."""
    known = thresholds.list_thresholds()
    parts = []
    for name, kind in phenomena.warning_kinds().items():
        module = sys.modules[kind.__name__]
        used = re.findall(r"thresholds\.([A-Z_]+)", inspect.getsource(module))
        rows = "".join(
            f"| `{one}` | {known[one]:g} {known[one].unit} | {known[one].reason} |\n"
            for one in dict.fromkeys(used)
        )
        parts += [f"## {name.replace('_', ' ')}", read_docstring(module.__name__)]
        parts += [f"| | value | reason |\n|---|---|---|\n{rows}"] if rows else []
        parts += [f"What to do:\n\n{format_list(kind.DO)}", _relations(kind)]
    return HEAD + join_parts(parts)


def _relations(kind: phenomena.WarningKind) -> str:
    """Return which warnings a kind is a part of, and which causes it announces."""
    causes = ", ".join(f"[{name}](causes/{name}.md)" for name in sorted(kind.PREDICTS))
    announced = f"May lead to {causes}."
    if not kind.FOLLOWS:
        return announced
    earlier = " or ".join(f"`{name}`" for name in sorted(kind.FOLLOWS))
    return f"After {earlier} it is a part of that warning. {announced}"
