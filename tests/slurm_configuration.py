"""Configuration of a private Slurm: real plugins, short timers, three partitions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

_CONFIGURATION = {
    "ClusterName": "lab",
    "AuthType": "auth/munge",
    "CredType": "cred/munge",
    "ProctrackType": "proctrack/cgroup",
    "TaskPlugin": "task/cgroup",
    "JobAcctGatherType": "jobacct_gather/linux",
    "JobAcctGatherFrequency": "1",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU_Memory",
    "DefMemPerCPU": "500",
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "SchedulerParameters": "sched_interval=1,sched_min_interval=0,batch_sched_delay=0",
    "SlurmctldTimeout": "5",
    "SlurmdTimeout": "6",
    "KillWait": "10",
    "OverTimeLimit": "0",
    "MinJobAge": "300",
    "ReturnToService": "2",
    "MpiDefault": "none",
    "SlurmUser": "root",
    "SlurmdUser": "root",
}
"""Settings of the cluster: real plugins and short timers, with some seconds for a verdict."""


def write_configuration(
    home: Path,
    head: str,
    nodes: Sequence[str],
    has_accounting: bool,
    settings: Mapping[str, str],
) -> None:
    """Write the files of the configuration."""
    for name in ("munge", "state", "spool"):
        (home / name).mkdir(mode=0o755)
    (home / "munge" / "key").write_bytes(os.urandom(64))
    (home / "munge" / "key").chmod(0o400)
    socket = f"socket={home}/munge/socket"
    accounting = {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": head,
        "AccountingStoragePass": f"{home}/munge/socket",
        "AccountingStoreFlags": "job_comment",
    }
    merged = {
        **_CONFIGURATION,
        "SlurmctldHost": head,
        "AuthInfo": socket,
        "StateSaveLocation": f"{home}/state",
        "SlurmdSpoolDir": f"{home}/spool/%n",
        "SlurmctldPidFile": f"{home}/slurmctld.pid",
        "SlurmdPidFile": f"{home}/%n.pid",
        **(accounting if has_accounting else {}),
        **settings,
    }
    partitions = {
        "main": "Default=YES PreemptMode=REQUEUE",
        "killable": "PreemptMode=CANCEL",
        "urgent": "PriorityTier=10 PreemptMode=OFF",
    }
    lines = [f"{key}={value}" for key, value in merged.items()]
    lines += [f"NodeName={name} NodeAddr={name} CPUs=2 RealMemory=2000" for name in nodes]
    of = ",".join(nodes)
    lines += [
        f"PartitionName={name} Nodes={of} MaxTime=60 {terms}" for name, terms in partitions.items()
    ]
    (home / "slurm.conf").write_text("\n".join(lines) + "\n")
    (home / "cgroup.conf").write_text(
        "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n"
    )
    database = home / "slurmdbd.conf"
    database.write_text(
        f"AuthType=auth/munge\nAuthInfo={socket}\nDbdHost={head}\nDbdAddr={head}\n"
        "SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\n"
        f"StoragePort=3306\nStorageUser=root\nPidFile={home}/slurmdbd.pid\nCommitDelay=0\n"
    )
    database.chmod(0o600)
