"""Under the real cron, and between the tools of a real pipeline."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pytest

from tests.supervised import PROGRAM, Lab, exit_of, shell, until

pytestmark = pytest.mark.e2e


def test_run_from_cron(lab: Lab) -> None:
    """A run that cron starts has its record, its status and its verdict."""
    crontabs, empty = lab.home / "crontabs", lab.home / "empty"
    crontabs.mkdir()
    empty.mkdir()
    lab.script("crontab", "", mode=0o644)
    settings = f"GPUALERT_STATE_DIR={lab.state} {lab.mark}=1"
    child = shell("echo started by cron; sleep 0.5; exit 3")
    line = f"* * * * * cd {lab.home} && {settings} {shlex.join((*PROGRAM, 'run', '--', *child))}\n"
    (crontabs / "root").write_text(f'MAILTO=""\n{line}')
    (crontabs / "root").chmod(0o600)
    alone = (
        f"mount --bind {crontabs} /var/spool/cron/crontabs\n"
        f"mount --bind {empty} /etc/cron.d\n"
        f"mount --bind {lab.home}/crontab /etc/crontab\n"
        "mount -t tmpfs tmpfs /run\n"
        "exec cron -f"
    )
    daemon = lab.start(("unshare", "--mount", "sh", "-ec", alone))
    until(lambda: any(lab.state.glob("runs/*/verdict.json")), "cron to start its minute", 90)
    daemon.terminate()
    daemon.wait()
    assert exit_of(lab.record())["code"] == 3
    logs = b"".join(Path(path).read_bytes() for path in sorted(lab.records()[0].glob("*.log")))
    assert logs == b"started by cron\n"
    assert lab.json("show")["verdict"]["disposition"] == "failed"


def test_between_zcat_and_jq(lab: Lab) -> None:
    """``zcat x | gpualert run -- cmd | jq`` has the same result as without gpualert."""
    rows = [{"step": step, "loss": 1 / (step + 1)} for step in range(50_000)]
    (lab.home / "x.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    script = 'zcat x.gz | "$@" | jq -s "length, .[-1].step"; echo ${PIPESTATUS[@]}'
    command = (*PROGRAM, "run", "--", "grep", "-v", "nothing")
    done = lab.call(("bash", "-c", script, "bash", *command))
    assert done.stdout.split() == [b"50000", b"49999", b"0", b"0", b"0"]
