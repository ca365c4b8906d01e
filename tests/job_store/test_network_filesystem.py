"""Tests of a store on a network filesystem that loses answers, by a library that loses them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.supervised import python

LOSING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
static int lost(const char *name) { return !__builtin_strcmp(getenv("LOSE"), name); }
static int stale = 2;
int linkat(int a, const char *b, int c, const char *d, int flags) {
    int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
    if (lost("links")) { errno = EOPNOTSUPP; return -1; }
    if (lost("stale") && stale-- > 0) { errno = ESTALE; return -1; }
    int result = real(a, b, c, d, flags);
    if (lost("answers")) { errno = EEXIST; return -1; }
    return result;
}
int renameat(int a, const char *b, int c, const char *d) {
    int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");
    if (lost("stale") && stale-- > 0) { errno = ESTALE; return -1; }
    int result = real(a, b, c, d);
    if (lost("answers")) { errno = ENOENT; return -1; }
    return result;
}
"""
USES = (
    "import sys\n"
    "from gpualert_common.errors import StoreError\n"
    "from gpualert_common.job_store import open_store\n"
    "store = open_store(sys.argv[1], deadline_s=5.0)\n"
    "try:\n"
    "    store.write('a/digests/1.json', b'1')\n"
    "    print(store.create('a/alerts/1.json', b'first'), store.create('a/alerts/1.json', b'2'))\n"
    "    print(store.read('a/alerts/1.json', 9), store.requests)\n"
    "except StoreError as error: print(error)\n"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library whose links and renames fail as the variable LOSE says."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "losing.c").write_text(LOSING)
    command = ("cc", "-shared", "-fPIC", "-o", folder / "losing.so", folder / "losing.c")
    subprocess.run(command, check=True)
    return folder / "losing.so"


def use(library: Path, place: Path, lose: str) -> list[str]:
    """Return the results of a write and two claims where links or renames fail."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "LOSE": lose}
    command = (*python(USES), str(place))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_lost_answers(library: Path, tmp_path: Path) -> None:
    """A link or rename that was done although the call failed counts as done, once."""
    assert use(library, tmp_path / "jobs", "answers") == ["True False", "b'first' 4"]
    assert os.listdir(tmp_path / "jobs/a/alerts") == ["1.json"]


def test_stale_handles(library: Path, tmp_path: Path) -> None:
    """A stale handle is tried again, and each attempt is counted."""
    assert use(library, tmp_path / "jobs", "stale") == ["True False", "b'first' 6"]


def test_no_links(library: Path, tmp_path: Path) -> None:
    """A filesystem without hard links is an error that names the reason and the place."""
    (line,) = use(library, tmp_path / "jobs", "links")
    assert line.startswith(f"{tmp_path}/jobs: this filesystem has no hard links")
