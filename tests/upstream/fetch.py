"""The sources of a distribution as its authors published them: a wheel has no tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache/upstream"
"""Kept between runs, out of version control."""


class NotFetchedError(Exception):
    """The sdist could not be had: says of what, and in which words pip said so."""


def source(distribution: str, version: str) -> Path:
    """The unpacked sdist of exactly this version: from the cache, or else from the registry.

    What is in the cache is complete: it is unpacked beside it and renamed.

    :raises NotFetchedError: without network, or where the version has no sdist.
    """
    kept = CACHE / f"{distribution}-{version}"
    if not kept.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetching-") as scratch:
            archive = _download(f"{distribution}=={version}", Path(scratch))
            unpacked = Path(scratch, "unpacked")
            shutil.unpack_archive(archive, unpacked)
            (top,) = unpacked.iterdir()
            top.rename(kept)
    return kept


def _download(requirement: str, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "2"]
    command += ["--no-deps", "--no-binary", ":all:", "--dest", str(into), requirement]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    archives = list(into.iterdir())
    if done.returncode != 0 or len(archives) != 1:
        said = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).splitlines()[-8:])
        raise NotFetchedError(
            f"No sdist of {requirement}, which has the tests: pip ended with {done.returncode}"
            f" and said\n{said}\n"
            "It needs a way to the package registry, once; a version without an sdist has no tests."
        )
    return archives[0]
