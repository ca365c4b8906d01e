"""Runs that exited with 0: trained, diverged, restarted, truncated, or without any report."""

from __future__ import annotations

import math
import re
from random import Random

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling, hugging_face, megatron, plain, traceback
from tests.scenarios.scene import Card, Scene


def _cards(chance: Random) -> list[Card]:
    return [Card() for _ in range(chance.choice((0, 1, 8)))]


@scenario("G1", "none", real_s=7)
def trained_by_trainer(chance: Random) -> Scene:
    """A Trainer's loss falls."""
    return Scene(log=hugging_face(chance, falling(chance)), cards=_cards(chance))


@scenario("G1", "none", real_s=7)
def trained_by_megatron(chance: Random) -> Scene:
    """Megatron's does."""
    return Scene(log=megatron(chance, falling(chance)), cards=_cards(chance))


@scenario("G1", "none", real_s=7)
def trained_by_hand(chance: Random) -> Scene:
    """A custom loop."""
    last = chance.choice((200, 1000))
    return Scene(log=plain(falling(chance), range(1, last + 1, 5), last), cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable")
def noisy_reward(chance: Random) -> Scene:
    """Losses around zero, as of policy gradients, are no criterion."""
    return Scene(log=hugging_face(chance, lambda _part: chance.gauss(0, 1e-4)))


@scenario("G1", "none", real_s=7)
def trained_on_the_processor(chance: Random) -> Scene:
    """A small model without a GPU, in epochs of its own form."""
    fall, last = falling(chance), chance.randint(25, 90)
    log = "".join(f"Epoch {n}/{last} - loss: {fall(n / last):.4f}\n" for n in range(1, last + 1))
    return Scene(log=log)


@scenario("G1", "none", health="unverifiable")
def silent(chance: Random) -> Scene:
    """Nothing recognisable is printed."""
    return Scene(log="loading\n" + "." * chance.randint(10, 200) + "\nall done\n")


@near_miss("E1", "none", real_s=7)
def one_bad_step(chance: Random) -> Scene:
    """A step that overflowed, in the middle."""
    bad = chance.randint(20, 40) / 60
    fall = falling(chance)
    return Scene(
        log=hugging_face(chance, lambda part: math.nan if abs(part - bad) < 0.008 else fall(part))
    )


@near_miss("E3", "none", real_s=7)
def stopped_early(chance: Random) -> Scene:
    """An intended early stop."""
    log = plain(falling(chance), range(1, 60), 100)
    return Scene(log=log + "Early stopping: no improvement for 5 epochs\n")


@scenario("E1", "not_learning", weaker=("none",), real_s=7)
def blew_up(chance: Random) -> Scene:
    """The loss rises in the second half, without a NaN."""
    fall, rise = falling(chance), chance.uniform(0.5, 50.0)

    def loss(part: float) -> float:
        return fall(part) if part < 0.5 else fall(0.0) * (1 + rise * (part - 0.5))

    return Scene(log=hugging_face(chance, loss), cards=_cards(chance))


@scenario("E1", "not_learning", weaker=("none",), real_s=7)
def blew_up_in_megatron(chance: Random) -> Scene:
    """The same in Megatron."""
    start, rise = chance.uniform(3, 8), chance.uniform(0.4, 9)
    return Scene(
        log=megatron(chance, lambda part: start * (1 + rise * part) + chance.gauss(0, 0.05))
    )


@scenario("E1", "not_learning", real_s=7)
def frozen(chance: Random) -> Scene:
    """No gradient reaches a weight."""
    at = chance.uniform(0.6, 4.0)
    return Scene(log=hugging_face(chance, lambda _part: at, norm=0.0))


@scenario("E1", "not_learning")
def no_learning_rate(chance: Random) -> Scene:
    """A learning rate schedule that is zero."""
    at = chance.uniform(0.6, 4.0)
    log = hugging_face(chance, lambda _part: at + chance.gauss(0, at / 2000), rate=0.0)
    return Scene(log=log)


@scenario("E1", "not_learning", real_s=7)
def guesses(chance: Random) -> Scene:
    """The loss stays where guessing among the printed number of classes puts it."""
    classes, last = chance.choice((2, 10, 100, 1000)), chance.choice((200, 1000))
    level = math.log(classes)
    log = plain(lambda _part: level + chance.gauss(0, level / 500), range(1, last + 1, 5), last)
    return Scene(log=f"num_classes: {classes}\n{log}", cards=_cards(chance))


@near_miss("G1", "none", health="unverifiable", real_s=7)
def flat_near_a_usual_level(chance: Random) -> Scene:
    """The same loss without a number of classes is unverifiable, and no failure."""
    level, last = math.log(chance.choice((2, 10, 1000))), chance.choice((200, 1000))
    log = plain(lambda _part: level + chance.gauss(0, level / 500), range(1, last + 1, 5), last)
    return Scene(log=log, cards=_cards(chance))


@near_miss("E1", "none", real_s=7)
def guesses_at_first(chance: Random) -> Scene:
    """The loss stays there for a while, and falls."""
    last = chance.choice((200, 1000))
    until = chance.uniform(0.1, 0.6)

    def loss(part: float) -> float:
        return math.log(10) - 1.5 * max(0.0, part - until) + chance.gauss(0, 0.01)

    return Scene(log="num_classes: 10\n" + plain(loss, range(1, last + 1, 5), last))


@scenario("E1", "nan_loss", real_s=7)
def nan_to_the_end(chance: Random) -> Scene:
    """A loss that is NaN from some step on."""
    at = chance.uniform(0.2, 0.9)
    fall = falling(chance)
    log = megatron(chance, lambda part: math.nan if part > at else fall(part))
    return Scene(log=log, cards=_cards(chance))


@scenario("E3", "undertrained", weaker=("none",), real_s=7)
def cut_short(chance: Random) -> Scene:
    """It exited with 0 after a small part of its steps."""
    total = chance.choice((2000, 5000, 20000))
    last = int(total * chance.choice((0.002, 0.02, 0.08, 0.3, 0.7))) // 10 * 10
    log = megatron(chance, falling(chance), last=max(20, last), total=total)
    return Scene(log=log, cards=_cards(chance))


@near_miss("E3", "none")
def three_steps(chance: Random) -> Scene:
    """A limit that was left in from a test."""
    return Scene(log=hugging_face(chance, falling(chance), last=chance.randint(2, 5)))


@near_miss("E3", "none", real_s=7)
def one_of_a_chain(chance: Random) -> Scene:
    """It saves and exits, and the next job resumes."""
    last = chance.randint(2, 20) * 10
    log = megatron(chance, falling(chance), last=last, total=20000)
    log += f"saving checkpoint at iteration {last:7d} to /ckpt in torch_dist format\n"
    log += f"  successfully saved checkpoint from iteration {last:7d} to /ckpt\n"
    return Scene(log=log + f"exiting program at iteration {last}\n")


@scenario("E3", "undertrained", real_s=7)
def no_batches(chance: Random) -> Scene:
    """The loader was empty."""
    del chance
    return Scene(log="`Trainer.fit` stopped: No training batches.\n")


@scenario("E3", "undertrained", real_s=7)
def cut_short_in_a_trainer(chance: Random) -> Scene:
    """A Trainer's bar shows the planned number of steps."""
    total = chance.randint(800, 5000)
    lines = hugging_face(chance, falling(chance), last=chance.randint(12, 60)).splitlines()
    log = "\n".join(re.sub(r"/\d+ \[", f"/{total} [", line) for line in lines[:-1])
    return Scene(log=log + "\n", cards=_cards(chance))


@scenario("E3", "undertrained", real_s=7)
def resumed_for_a_moment(chance: Random) -> Scene:
    """It resumes, and ends after some steps."""
    first = chance.randint(2, 9) * 100
    log = megatron(chance, falling(chance), first=first, last=first + 60, total=90000)
    return Scene(log=log, cards=_cards(chance))


@scenario("E3", "undertrained")
def no_batches_at_all(chance: Random) -> Scene:
    """The same, after the summary of the model."""
    head = "  | Name  | Type | Params\n" * chance.randint(1, 9)
    log = head + "`Trainer.fit` stopped: No training batches.\n"
    return Scene(log=log, cards=_cards(chance))


@near_miss("E3", "none", real_s=7)
def all_of_its_steps(chance: Random) -> Scene:
    """It made all planned steps."""
    last = chance.randint(3, 60) * 10
    return Scene(log=megatron(chance, falling(chance), last=last, total=last))


@near_miss("E3", "nan_loss", real_s=7)
def cut_short_by_nan(chance: Random) -> Scene:
    """It ended early because its losses were NaN."""
    log = megatron(chance, lambda _part: math.nan, last=100, total=9000)
    return Scene(log=log, cards=_cards(chance))


@near_miss("E1", "none")
def harder_data(chance: Random) -> Scene:
    """Harder data start in the middle: the loss jumps, and falls again."""
    at, jump = chance.uniform(0.3, 0.7), chance.uniform(1.5, 4.0)
    fall = falling(chance)

    def loss(part: float) -> float:
        return (
            fall(part) if part < at else jump * fall(0.25) * math.exp(-3 * (part - at) / (1 - at))
        )

    return Scene(log=hugging_face(chance, loss), cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable")
def converged_long_ago(chance: Random) -> Scene:
    """A loss that hardly moves, although the rate and the gradients are normal."""
    at = chance.uniform(0.2, 3.0)
    log = hugging_face(chance, lambda _part: at + chance.gauss(0, at / 100))
    return Scene(log=log, cards=_cards(chance))


@near_miss("E1", "none", real_s=7)
def overfits(chance: Random) -> Scene:
    """The loss of evaluations rises, that of training falls."""
    fall = falling(chance)
    lines = []
    for number, line in enumerate(hugging_face(chance, fall).splitlines()):
        lines.append(line)
        if number % 20 == 19:
            lines.append(
                str({"eval_loss": f"{1 + number / 20:.4g}", "epoch": f"{number / 40:.3g}"})
            )
    return Scene(log="\n".join(lines) + "\n", cards=_cards(chance))


@near_miss("E1", "none")
def warm_restarts(chance: Random) -> Scene:
    """The learning rate restarts several times, and the loss jumps each time."""
    fall, times = falling(chance), chance.choice((3, 4))

    def loss(part: float) -> float:
        return fall(part) * (1 + 1.5 * (1 - (part * times) % 1.0))

    return Scene(log=hugging_face(chance, loss), cards=_cards(chance))


@near_miss("G1", "traceback", family=None, real_s=7)
def hidden_by_a_pipe(chance: Random) -> Scene:
    """The status is 0, and the log ends in an exception."""
    log = hugging_face(chance, falling(chance)).rpartition("{'train_runtime'")[0]
    raised = traceback("KeyError: 'x'", "<module>", "main", "step")
    return Scene(log=log + raised, cards=_cards(chance))


@near_miss("G1", "nan_loss", real_s=7)
def nan_behind_a_zero(chance: Random) -> Scene:
    """It exited with 0, and its losses are NaN."""
    at = chance.uniform(0.1, 0.9)
    fall = falling(chance)
    log = hugging_face(chance, lambda part: math.nan if part > at else fall(part))
    return Scene(log=log, cards=_cards(chance))


@near_miss("G1", "not_learning")
def frozen_behind_a_zero(chance: Random) -> Scene:
    """It exited with 0, and its loss did not change."""
    at = chance.uniform(0.6, 9.0)
    return Scene(log=hugging_face(chance, lambda _part: at, norm=0.0), cards=_cards(chance))


@near_miss("G1", "oom_killer", real_s=7)
def killed_and_swallowed(chance: Random) -> Scene:
    """A script that reports that its training was killed, and continues."""
    log = plain(falling(chance), range(1, 50), 1000)
    log += "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks "
    log += "have been OOM Killed.\n"
    return Scene(log=log, code=chance.choice((1, 137)), cards=_cards(chance))


@near_miss("G1", "undertrained")
def nothing_behind_a_zero(chance: Random) -> Scene:
    """It exited with 0 after a hundredth of its steps."""
    log = megatron(chance, falling(chance), last=chance.randint(3, 9) * 10, total=9000)
    return Scene(log=log, cards=_cards(chance))


@scenario("E1", "nan_loss")
def infinite_at_the_end(chance: Random) -> Scene:
    """Its gradients overflow up to the end."""
    at = chance.uniform(0.3, 0.9)
    fall = falling(chance)
    log = hugging_face(chance, lambda part: math.inf if part > at else fall(part))
    return Scene(log=log, cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable", real_s=7)
def two_opponents(chance: Random) -> Scene:
    """A generator and a discriminator: the loss of either rises with the skill of the other."""
    names = chance.choice((("Loss_D", "Loss_G"), ("d_loss", "g_loss"), ("critic_loss", "G loss")))
    rise = chance.uniform(1, 9)
    lines = [
        f"step {step} {names[0]}: {0.4 + rise * step / 200:.4f} {names[1]}: "
        f"{1 + rise * step / 100:.4f}\n"
        for step in range(1, 200)
    ]
    return Scene(log="".join(lines), cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable")
def by_reward(chance: Random) -> Scene:
    """A policy is trained by its reward, and the loss of its critic rises with that."""
    lines = [
        f"iteration {step}: value_loss {0.1 + step / 20:.4f} mean_reward {step / 10:.2f}\n"
        for step in range(1, chance.randint(60, 200))
    ]
    return Scene(log="".join(lines), cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable")
def sweep(chance: Random) -> Scene:
    """Trials one after another, of which the last learns nothing, or blows up."""
    fall, worst = falling(chance), chance.choice((1.0, 30.0))
    bad = plain(lambda part: fall(0.0) * (1 + (worst - 1) * part), range(1, 50), 50)
    good = plain(fall, range(1, 50), 50) * chance.randint(2, 5)
    return Scene(log=good + bad, cards=_cards(chance))


@near_miss("E1", "none", health="unverifiable")
def evaluates_ever_harder_data(chance: Random) -> Scene:
    """It does not train: the losses are those of an existing model."""
    command = chance.choice((["python", "evaluate.py"], ["python", "main.py", "--eval"]))
    return Scene(log=plain(lambda part: 1 + 3 * part, range(1, 90), 90), command=command)


@near_miss("E1", "none")
def norms_that_are_none(chance: Random) -> Scene:
    """A wrong gradient norm, and a loss that falls."""
    log = hugging_face(chance, falling(chance), norm=math.nan)
    return Scene(log=log, cards=_cards(chance))


@scenario("E1", "nan_loss")
def skips_every_step(chance: Random) -> Scene:
    """Gradients overflow from the first step to the last, so that no step is applied."""
    at = chance.uniform(2, 9)
    log = hugging_face(chance, lambda _part: at + chance.gauss(0, 0.01), norm=math.inf, last=400)
    return Scene(log=log, cards=_cards(chance))


@near_miss("E3", "none")
def stopped_behind_an_evaluation(chance: Random) -> Scene:
    """A callback stops it silently."""
    total = chance.randint(2000, 5000)
    lines = hugging_face(chance, falling(chance), last=chance.randint(12, 60)).splitlines()[:-1]
    lines = [re.sub(r"/\d+ \[", f"/{total} [", line) for line in lines]
    evaluation = "{'eval_loss': '0.9', 'eval_runtime': '2.1', 'epoch': '%s'}"
    lines.insert(len(lines) // 2, evaluation % "1.4")
    return Scene(log="\n".join([*lines, evaluation % "3"]) + "\n", cards=_cards(chance))


@near_miss("E3", "none", real_s=7)
def saved_and_left(chance: Random) -> Scene:
    """Its time is over between two lines: it saves, and the next job continues."""
    log = plain(falling(chance), range(10, 300, 10), 300).replace(":", "/90000:")
    return Scene(log=f"{log}Saved checkpoint to out/last.pt\n", cards=_cards(chance))
