"""Run the programs again and store their output: ``python capture.py [NAME...]``.

Needs the environments that ``make corpus`` sets up.  Everything happens in /tmp/run, where the
environment is linked to, so that no path of a machine gets into a log; what a program wrote is kept
as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parents[2] / ".venv-corpus"
RUN = Path("/tmp/run")
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Case:
    """One run: the command that is kept, and the one that ran in the same place before it."""

    environment: str
    command: str
    before: str = ""
    apart: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


HF = "python hf_trainer.py"
HALF = f"{HF} --save-every 20 --stop-at 42"
TRL = "python trl_tune.py"
PL = "python lightning_fit.py"
DS = "python deepspeed_engine.py"
KERAS = "python keras_fit.py"
TF = "python tf_session.py"
LOOP = "python torch_loop.py"
TWO = "python -m torch.distributed.run --standalone --nproc-per-node 2"

CASES: dict[str, Case] = {}
for own, name in (("hf5", "torch"), ("hf4", "hf4")):
    CASES |= {
        f"{own}-healthy": Case(name, f"{HF} --save-every 20 --eval-every 20"),
        f"{own}-apart": Case(name, f"{HF} --save-every 20 --eval-every 20", apart=True),
        f"{own}-budget-apart": Case(name, f"{HF} --log-every 1 --budget 3", apart=True),
        f"{own}-buffered": Case(name, HF, env={"PYTHONUNBUFFERED": ""}),
        f"{own}-resumed": Case(name, f"{HF} --save-every 20 --resume", HALF),
        f"{own}-resumed-apart": Case(name, f"{HF} --save-every 20 --resume", HALF, apart=True),
        f"{own}-scratch": Case(name, f"{HF} --save-every 20 --resume --output runs", HALF),
        f"{own}-nan": Case(name, f"{HF} --rate 3e30"),
        f"{own}-undertrained": Case(name, f"{HF} --steps 2 --log-every 1"),
        f"{own}-killed": Case(name, HALF),
        f"{own}-no-bar": Case(name, f"{HF} --no-bar --epochs 2 --eval-every 20"),
        f"{own}-no-bar-resumed": Case(
            name, f"{HF} --no-bar --epochs 2 --save-every 20 --resume", f"{HALF} --epochs 2"
        ),
        f"{own}-info": Case(name, f"{HF} --info --save-every 30"),
        f"{own}-info-resumed": Case(name, f"{HF} --info --save-every 20 --resume", HALF),
        f"trl-{own}-sft": Case(name, f"{TRL} sft"),
        f"trl-{own}-dpo": Case(name, f"{TRL} dpo"),
        f"trl-{own}-nan": Case(name, f"{TRL} sft --rate 3e30"),
    }
CASES |= {
    "hf5-two-ranks": Case("torch", f"{TWO} --tee 3 hf_trainer.py --steps 20"),
    "trl-hf5-resumed": Case("torch", f"{TRL} sft --resume --steps 40", f"{TRL} sft --steps 20"),
}
for own, name in (("pl26", "torch"), ("pl24", "hf4")):
    CASES |= {
        f"{own}-tqdm": Case(name, f"{PL} --bar tqdm"),
        f"{own}-tqdm-both": Case(name, f"{PL} --bar tqdm --both"),
        f"{own}-no-bar": Case(name, f"{PL} --bar none"),
        f"{own}-no-bar-prints": Case(name, f"{PL} --bar none --print"),
        f"{own}-resumed": Case(name, f"{PL} --bar tqdm --resume", f"{PL} --stop-at 2"),
        f"{own}-scratch": Case(
            name, f"{PL} --bar tqdm --resume --output runs", f"{PL} --stop-at 2"
        ),
        f"{own}-nan": Case(name, f"{PL} --bar tqdm --rate 3e30"),
        f"{own}-undertrained": Case(name, f"{PL} --bar tqdm --steps 1"),
        f"{own}-no-batches": Case(name, f"{PL} --bar tqdm --no-batches"),
    }
CASES |= {
    "pl26-rich": Case("torch", f"{PL} --bar rich"),
    "pl26-rich-live": Case(
        "torch", f"{PL} --bar rich --both", env={"TTY_COMPATIBLE": "1", "COLUMNS": "160"}
    ),
}
ONE = {
    "DS_ACCELERATOR": "cpu",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29741",
}
CASES |= {
    "deepspeed-healthy": Case("torch", f"{DS} --info --print", env=ONE),
    "deepspeed-no-loss": Case("torch", f"{DS} --info", env=ONE),
    "deepspeed-breakdown": Case("torch", f"{DS} --info --breakdown --print --steps 30", env=ONE),
    "deepspeed-resumed": Case(
        "torch", f"{DS} --info --print --resume", f"{DS} --steps 50", env=ONE
    ),
    "deepspeed-scratch": Case(
        "torch", f"{DS} --info --print --resume --output runs", f"{DS} --steps 50", env=ONE
    ),
    "deepspeed-nan": Case("torch", f"{DS} --info --print --half --rate 3e30", env=ONE),
    "deepspeed-undertrained": Case("torch", f"{DS} --info --print --steps 3", env=ONE),
}
for verbose in (1, 2):
    keras = f"{KERAS} --verbose {verbose}"
    CASES |= {
        f"keras-v{verbose}-healthy": Case("jax", f"{keras} --validate --checkpoint"),
        f"keras-v{verbose}-resumed": Case(
            "jax", f"{keras} --checkpoint --resume", f"{keras} --checkpoint --stop-at 2"
        ),
        f"keras-v{verbose}-scratch": Case(
            "jax",
            f"{keras} --checkpoint --resume --output runs",
            f"{keras} --checkpoint --stop-at 2",
        ),
        f"keras-v{verbose}-backup": Case(
            "jax", f"{keras} --backup", f"{keras} --backup --stop-at 3"
        ),
        f"keras-v{verbose}-nan": Case("jax", f"{keras} --rate 3e30"),
        f"keras-v{verbose}-terminated": Case("jax", f"{keras} --rate 3e30 --terminate"),
        f"keras-v{verbose}-undertrained": Case("jax", f"{keras} --epochs 1"),
    }
CASES |= {
    "keras-jax-healthy": Case("jax", f"{KERAS} --verbose 2", env={"KERAS_BACKEND": "jax"}),
    "tf-healthy": Case("jax", TF),
    "tf-resumed": Case("jax", TF, f"{TF} --steps 100"),
    "tf-scratch": Case("jax", f"{TF} --output runs", f"{TF} --steps 100"),
    "tf-nan": Case("jax", f"{TF} --rate 3e30 --guard"),
    "tf-undertrained": Case("jax", f"{TF} --steps 2"),
}
STYLES = (
    "colour",
    "dict",
    "epoch",
    "imagenet",
    "json",
    "keyed",
    "logging",
    "mnist",
    "nano",
    "step",
    "tqdm",
    "tutorial",
    "two-lines",
)
CASES |= {f"loop-{style}": Case("torch", f"{LOOP} {style}") for style in STYLES}
CASES |= {
    "loop-ranks": Case("torch", f"{TWO} torch_loop.py ranks"),
    "loop-ranks-bare": Case("torch", f"{TWO} torch_loop.py ranks-bare"),
    "loop-ranks-tee": Case("torch", f"{TWO} --tee 3 torch_loop.py step"),
    "loop-resumed": Case("torch", f"{LOOP} step --resume", f"{LOOP} step --stop-at 2"),
    "loop-resumed-imagenet": Case(
        "torch", f"{LOOP} imagenet --resume", f"{LOOP} imagenet --stop-at 2"
    ),
    "loop-scratch": Case("torch", f"{LOOP} step --resume"),
    "loop-nan": Case("torch", f"{LOOP} step --rate 3e30"),
    "loop-nan-tqdm": Case("torch", f"{LOOP} tqdm --rate 3e30 --epochs 1"),
    "loop-undertrained": Case("torch", f"{LOOP} step --epochs 1 --steps 1 --every 1"),
    "loop-trials": Case("torch", f"{LOOP} step --trials 3 --epochs 1"),
}


def run(name: str, case: Case) -> None:
    """Run one case and keep its log, or its two."""
    shutil.rmtree(RUN, ignore_errors=True)
    work = RUN / "project"
    shutil.copytree(HERE / "programs", work)
    (RUN / "home").mkdir()
    (RUN / "venv").symlink_to(ENVIRONMENTS / case.environment)
    environment = {
        "PATH": f"{RUN}/venv/bin:/usr/bin:/bin",
        "HOME": str(RUN / "home"),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
        **case.env,
    }
    out = RUN / "stdout.log"
    err = RUN / "stderr.log" if case.apart else out
    for command in filter(None, (case.before, case.command)):
        out.write_bytes(b"")
        err.write_bytes(b"")
        with out.open("ab") as stdout, err.open("ab") as stderr:
            code = subprocess.run(
                ["nice", "-n", "10", *command.split()],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=LIMIT_S,
            ).returncode
    kept = {"stdout.log": out, "stderr.log": err} if case.apart else {"output.log": out}
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    for file, source in kept.items():
        shutil.copyfile(source, HERE / name / file)
    sizes = ", ".join(f"{file} {source.stat().st_size}" for file, source in kept.items())
    print(f"{name}: status {code}, {sizes} bytes", flush=True)


def page() -> str:
    """Return the page that lists the program of each log."""
    rows = [
        f"| {name} | {case.environment} | `{case.command}`{_with(case)} | "
        f"{'`' + case.before + '`' if case.before else ''} |"
        for name, case in sorted(CASES.items())
    ]
    return "\n".join([_HEAD, *rows, ""])


def _with(case: Case) -> str:
    settings = " ".join(f"{name}={value}" for name, value in case.env.items() if case.env != ONE)
    apart = ", stdout and stderr apart" if case.apart else ""
    return (f" with `{settings}`" if settings else "") + apart


_HEAD = """# Logs of trainings that ran

Each folder holds what one program in `programs/` wrote, byte for byte. `capture.py` runs them
again, in `/tmp/run`, on the CPU and without a network, and writes this page. The second command ran
before the one whose log is kept, in the same place; its own log is not kept.

* torch: transformers 5.23.0, trl 1.16.0, lightning 2.6.6, deepspeed 0.19.8, torch 2.13.0
* hf4: transformers 4.46.3, trl 0.12.2, pytorch-lightning 2.4.0, torch 2.13.0
* jax: keras 3.15.1, tensorflow 2.21.0, jax 0.10.2

| log | environment | program | before it |
|---|---|---|---|"""


def main() -> None:
    """Run the cases that are named, or all, and write the page."""
    os.umask(0o022)
    for name in sys.argv[1:] or CASES:
        run(name, CASES[name])
    (HERE / "README.md").write_text(page())


if __name__ == "__main__":
    main()
