"""The sources of a distribution as its authors published them: a wheel has no tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache/upstream"
"""Kept between runs, outside of version control."""


class NotFetchedError(Exception):
    """The sdist cannot be downloaded; the message has its name and pip's output."""


def source(distribution: str, version: str) -> Path:
    """Return the unpacked sdist of exactly this version: from the cache, or from the registry.

    An entry of the cache is complete, since it is unpacked next to it and renamed.

    :raises NotFetchedError: without network, or if the version has no sdist.
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
        output = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).splitlines()[-8:])
        raise NotFetchedError(
            f"No sdist of {requirement}, which has the tests: pip exited with {done.returncode}"
            f" and printed\n{output}\n"
            "It needs the package registry once; a version without an sdist has no tests."
        )
    return archives[0]
