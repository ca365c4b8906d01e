"""Runs that should resume from a checkpoint but did not, and runs that started over on purpose."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import (
    falling,
    hugging_face,
    megatron,
    of_rank,
    plain,
    some_steps,
    traceback,
)
from tests.scenarios.scene import Card, Scene, flat

NOT_FOUND = (
    "WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt\n"
    "    will not load any checkpoints and will start from random\n"
)
SHAPE = (
    "RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for head.weight: "
    "copying a param with shape torch.Size([50257, 768]) from checkpoint, the shape in current "
    "model is torch.Size([50304, 768])."
)
CUT_OFF = (
    "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
)


def before(chance: Random, folder: str = "out") -> dict[str, Any]:
    """Return the content of the output directory before the launch."""
    step = chance.randint(1, 90) * 100
    path = f"{folder}/checkpoint-{step}"
    return {"named": {}, "before": [{"path": path, "step": step, "written_at": 1.0}]}


def _trained(chance: Random) -> str:
    last = chance.choice((200, 1000))
    return chance.choice(
        (
            lambda: hugging_face(chance, falling(chance)),
            lambda: megatron(chance, falling(chance)),
            lambda: plain(falling(chance), range(1, last + 1, 5), last),
        )
    )()


def _in_a_shell(chance: Random, *command: str) -> list[str]:
    """Return the command, as started by a workflow engine or directly."""
    return list(command) if chance.random() < 0.5 else ["bash", "-c", " ".join(command)]


@scenario("E2", "resume_from_scratch", real_s=7)
def began_anew(chance: Random) -> Scene:
    """The command names a checkpoint of a certain step, and the first step is step 1."""
    flag = chance.choice(("--resume_from_checkpoint", "--resume", "--resume-from"))
    path = f"/ckpt/step-{chance.randint(100, 9000)}"
    return Scene(
        log=_trained(chance), command=_in_a_shell(chance, "python", "train.py", flag, path)
    )


@scenario("E2", "resume_from_scratch", real_s=7)
def passed_over(chance: Random) -> Scene:
    """The named file existed."""
    path = chance.choice(("runs/last.ckpt", "/scratch/me/model.pt", "out"))
    command = _in_a_shell(chance, "python", "train.py", "--resume", path)
    return Scene(
        log=_trained(chance), command=command, checkpoints={"named": {path: True}, "before": []}
    )


@scenario("E2", "resume_from_scratch", real_s=7)
def began_anew_after_requeue(chance: Random) -> Scene:
    """The scheduler restarted it, and its checkpoint existed."""
    log = chance.choice(("", NOT_FOUND)) + megatron(chance, falling(chance))
    restarts = {"SLURM_RESTART_COUNT": str(chance.randint(1, 5))}
    command = ["python", "pretrain_gpt.py", "--save", "out"]
    return Scene(log=log, variables=restarts, checkpoints=before(chance), command=command)


@scenario("E2", "resume_from_scratch", real_s=7)
def searched_in_vain(chance: Random) -> Scene:
    """It should find the newest checkpoint by itself; there was one."""
    option = chance.choice((["--resume", "auto"], ["--auto-resume"], ["--init_from=resume"]))
    command = _in_a_shell(chance, "python", "train.py", *option, "--output_dir", "out")
    return Scene(log=_trained(chance), command=command, checkpoints=before(chance))


@scenario("E2", "resume_from_scratch")
def began_anew_by_equals(chance: Random) -> Scene:
    """The same with an option of hydra's form."""
    step = chance.randint(1, 40)
    option = f"trainer.resume_from_checkpoint=/ckpt/epoch={step}-step={step * 500}.ckpt"
    return Scene(log=_trained(chance), command=["python", "train.py", option])


@scenario("E2", "checkpoint", family="E2")
def other_model_inside(chance: Random) -> Scene:
    """The checkpoint belongs to another model."""
    frames = ("main", "train.py:resume_from:model.load_state_dict(state)")
    log = of_rank(chance, traceback(SHAPE, *frames))
    return Scene(log=log, code=1, cards=[Card(memory=flat(0.1), load=flat(0))], seconds=60.0)


@scenario("E2", "checkpoint", family="E2", real_s=7)
def cut_off_in_writing(chance: Random) -> Scene:
    """The newest checkpoint is truncated, and the command names it."""
    frames = ("main", "/opt/torch/serialization.py:load:reader = open(file)")
    command = _in_a_shell(chance, "python", "train.py", "--resume", "out/last.pt")
    return Scene(log=of_rank(chance, traceback(CUT_OFF, *frames)), code=1, command=command)


@scenario("E2", "checkpoint", family="E2")
def optimizer_of_another_run(chance: Random) -> Scene:
    """The optimizer's state does not fit."""
    said = "ValueError: loaded state dict has a different number of parameter groups"
    log = traceback(said, "main", "/opt/torch/optim/optimizer.py:load_state_dict:raise ValueError(")
    return Scene(log=of_rank(chance, log), code=1)


@scenario("E2", "checkpoint", family="E2")
def requeued_onto_nothing(chance: Random) -> Scene:
    """The scheduler starts it again, and its checkpoint cannot be read."""
    log = traceback(CUT_OFF, "main", "load", "/opt/torch/serialization.py:load:reader = open()")
    restarts = {"SLURM_RESTART_COUNT": str(chance.randint(1, 5))}
    return Scene(log=of_rank(chance, log), code=1, variables=restarts)


@scenario("E2", "checkpoint", family="E2")
def trainer_finds_none(chance: Random) -> Scene:
    """Transformers' trainer should resume, and there is no checkpoint."""
    said = "ValueError: No valid checkpoint found in output directory (out)"
    log = traceback(said, "main", "/opt/transformers/trainer.py:train:raise ValueError(")
    return Scene(log=log, code=1)


@near_miss("E2", "none", real_s=7)
def resumed_as_asked(chance: Random) -> Scene:
    """It should resume, and did."""
    first = chance.randint(200, 400) // 10 * 10
    log = megatron(chance, falling(chance), first=first)
    command = ["python", "pretrain.py", "--load", "/ckpt/run7"]
    return Scene(log=log, command=command, checkpoints={"named": {"/ckpt/run7": True}})


@near_miss("E2", "none", real_s=7)
def first_run_that_may_resume(chance: Random) -> Scene:
    """A script that always names a checkpoint, and there is none yet."""
    option = chance.choice((["--resume", "auto"], ["--resume", "out/last.pt"], ["--auto_resume"]))
    named = {"out/last.pt": False}
    command = _in_a_shell(chance, "python", "train.py", *option, "--output_dir", "out")
    found = {"named": named, "before": []}
    return Scene(log=_trained(chance), command=command, checkpoints=found)


@near_miss("E2", "none")
def first_run_of_megatron(chance: Random) -> Scene:
    """It always loads from its output directory; it reports that there is no checkpoint."""
    log = NOT_FOUND + megatron(chance, falling(chance))
    command = ["python", "pretrain_gpt.py", "--load", "/ckpt", "--save", "/ckpt"]
    return Scene(log=log, command=command, checkpoints={"named": {"/ckpt": False}, "before": []})


@near_miss("E2", "none")
def tuned_from_a_base(chance: Random) -> Scene:
    """The initial weights are those of another training."""
    command = chance.choice(
        (
            ["python", "pretrain_gpt.py", "--load", "/base/llama", "--finetune"],
            ["python", "finetune.py", "--load_checkpoint", "/base/model.pt"],
            ["python", "train.py", "--restore_from", "/base/epoch_40.pt", "--weights-only"],
            ["python", "train.py", "--resume", "/base/pretrained.pth"],
        )
    )
    named = {word: True for word in command if word.startswith("/")}
    return Scene(log=_trained(chance), command=command, checkpoints={"named": named})


@near_miss("E2", "none")
def saves_where_it_is_told(chance: Random) -> Scene:
    """A flag names the checkpoint to write."""
    flag = chance.choice(("--checkpoint", "--ckpt", "--save", "--checkpoint-dir", "--load_in_8bit"))
    checkpoints = chance.choice(({}, before(chance)))
    return Scene(
        log=_trained(chance), command=["python", "t.py", flag, "m.pt"], checkpoints=checkpoints
    )


@near_miss("E2", "none")
def requeued_before_it_saved(chance: Random) -> Scene:
    """Preempted in its first minutes: there was no checkpoint to resume from."""
    log = chance.choice(("", NOT_FOUND)) + _trained(chance)
    restarts = {"SLURM_RESTART_COUNT": str(chance.randint(1, 3))}
    return Scene(log=log, variables=restarts, checkpoints={"named": {}, "before": []})


@near_miss("E2", "none")
def begins_anew_on_purpose(chance: Random) -> Scene:
    """Its command asks to overwrite existing checkpoints."""
    command = ["python", "run.py", "--output_dir", "out", "--overwrite_output_dir"]
    return Scene(log=_trained(chance), command=command, checkpoints=before(chance))


@near_miss("E2", "checkpoint", family="A1")
def evaluation_of_another_model(chance: Random) -> Scene:
    """A checkpoint is loaded to test it, and does not fit."""
    log = traceback(SHAPE, "main", "evaluate", "module.py:load_state_dict:raise RuntimeError(")
    return Scene(log=log, code=1, command=["python", "evaluate.py", "--load", "m.pt"], seconds=30.0)


@near_miss("E2", "shape_mismatch", family=None, real_s=7)
def fails_after_it_resumed(chance: Random) -> Scene:
    """It resumed, and failed for another reason."""
    said = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x48 and 64x64)"
    log = "resuming from out/last.pt\n" + some_steps(chance) + traceback(said, "main", "forward")
    return Scene(log=log, code=1, command=["python", "t.py", "--resume", "out/last.pt"])


@near_miss("E2", "none", real_s=7)
def evaluates_what_it_names(chance: Random) -> Scene:
    """The command names a checkpoint to evaluate."""
    script = chance.choice((["evaluate.py"], ["tools/test.py"], ["main.py", "--eval"]))
    command = _in_a_shell(chance, "python", *script, "--resume", "m.pt")
    return Scene(log=_trained(chance), command=command, checkpoints={"named": {"m.pt": True}})


@near_miss("E2", "none")
def flag_before_the_configuration(chance: Random) -> Scene:
    """The word after a flag without a value is another argument."""
    command = _in_a_shell(chance, "python", "train.py", "--resume", "conf/base.yaml")
    found = {"named": {"conf/base.yaml": True}, "before": []}
    return Scene(log=_trained(chance), command=command, checkpoints=found)


@near_miss("E2", "none", real_s=7)
def counts_its_own_steps(chance: Random) -> Scene:
    """It reports that it resumed, and counts from one."""
    step = chance.randint(100, 9000)
    log = f"Resuming training from out/last.pt at step {step}\n"
    return Scene(
        log=log + plain(falling(chance), range(1, 200), 200),
        command=_in_a_shell(chance, "python", "train.py", "--resume", "out/last.pt"),
        checkpoints={"named": {"out/last.pt": True}, "before": []},
    )


@scenario("E2", "resume_from_scratch")
def fine_tuning_began_anew(chance: Random) -> Scene:
    """A script or output name with "sft" does not mean an intended new start."""
    command = ["python", "finetune.py", "--output_dir", "out/sft", "--resume_from_checkpoint"]
    path = f"out/sft/checkpoint-{chance.randint(1, 90) * 100}"
    found = {"named": {path: True}, "before": []}
    return Scene(log=_trained(chance), command=[*command, path], checkpoints=found)
