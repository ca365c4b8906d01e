"""Names of the packages: one word, one meaning.

A public class has a name that no other public class of the three packages has. A module's name
occurs at most twice. No name of a module, class, function or field contains a word for which the
project has a standard term. No function's name is a participle alone, such as ``masked``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tests.structure.source import Module, defined_functions, defined_names, public_classes

TERMS = {
    "attend": "deliver",
    "awaited": "waiter",
    "beside": "helper",
    "confess": "record",
    "courier": "delivery",
    "custody": "ownership",
    "happening": "event",
    "hear": "receive",
    "judge": "classifier, or a verb",
    "judged": "classification",
    "keeper": "supervisor, or the lease",
    "look": "sample",
    "lookout": "monitor",
    "patience": "deadline",
    "said": "text, or a verb",
    "scribe": "recorder",
    "seen": "evidence",
    "settle": "finalize",
    "succession": "takeover",
    "tell": "send, notify or report",
    "teller": "sender",
    "telling": "notable",
    "told": "view",
    "untold": "external",
    "warned": "warning",
    "whereabouts": "location",
}
"""Words that names do without, and the standard term for each."""

KEYS_OF_RECORDS = {"custody", "said", "told_as"}
"""Fields of ``launch_record.py``: records on disk have them as keys, so they keep their names."""

MOST_MODULES_OF_A_NAME = 2

SHARED_MODULE_NAMES = {"__init__", "_interface", "gpualert"}
"""Module names that many folders have: Airflow looks for ``operators/gpualert.py`` and the like."""

VERBS_IN_ED = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"}
"""Verbs whose base form ends as a participle does."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def bad_names(modules: list[Module]) -> Iterator[str]:
    """Yield a sentence for each name that breaks a rule."""
    classes: defaultdict[str, list[str]] = defaultdict(list)
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in set(public_classes(module)):
            classes[name].append(str(module.path))
        stems[module.path.stem].append(str(module.path))
        kept = KEYS_OF_RECORDS if module.path.name == "launch_record.py" else set()
        for name in sorted(set(defined_names(module)) - kept):
            for word in {part.lower() for part in _WORDS.findall(name)} & TERMS.keys():
                yield f"{module.path}: {name} contains {word!r}; the term is {TERMS[word]}"
        for name in sorted(set(defined_functions(module))):
            alone = name.strip("_")
            if alone.endswith("ed") and "_" not in alone and alone not in VERBS_IN_ED:
                yield f"{module.path}: {name} is a participle; a function's name begins with a verb"
    for name, paths in sorted(classes.items()):
        if len(paths) > 1:
            yield f"class {name} is defined in {', '.join(paths)}"
    for stem, paths in sorted(stems.items()):
        if len(paths) > MOST_MODULES_OF_A_NAME and stem not in SHARED_MODULE_NAMES:
            yield f"{stem}.py exists in {', '.join(paths)}"
