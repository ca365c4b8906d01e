"""Taking a profile of all ranks of a run for the same seconds, from outside, within limits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from gpualert_common.processes.host import host_name
from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline
from gpualert_common.processes.procfs import read
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.profiles.frame_trees import SampledThread, build_trees
from gpualert_common.profiles.profile import Profile, ProfiledRank, TreeKind
from gpualert_common.profiles.profile_targets import (
    Target,
    find_problem,
    find_targets,
    is_live,
    is_stopped,
)
from gpualert_common.profiles.py_spy_sampler import PySpySampler, SamplingOptions
from gpualert_common.profiles.sampled_stacks import parse_samples
from gpualert_common.profiles.thread_choice import ShownThreads, choose_threads
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.collection import is_fragile
from gpualert_common.stacks.descriptors import DescriptorReader
from gpualert_common.stacks.waits import read_wait
from gpualert_common.structs import Struct, replace

_START_S = 20.0
"""Longest time until py-spy samples: it reads the symbols of large libraries first."""
_END_S = 10.0
_POLL_S = 0.02


class _Sampled(Struct, frozen=True):
    """The threads of a process, or the problem."""

    target: Target
    shown: ShownThreads = ShownThreads()
    errors: int = 0
    lasted_s: float = 0.0
    problem: str = ""


def take_profile_of(
    tree: SampledTree,
    reason: str,
    options: SamplingOptions,
    chosen: frozenset[int] = frozenset(),
) -> Profile:
    """Return the profile of the processes of a run.

    ``chosen`` are the ranks to sample, all if it is empty.  The profile has no trees if no process
    could be sampled; then its ranks and problems say why.  Raises OSError when no process or
    descriptor is left.
    """
    targets, left_out = find_targets(tree.leader, tree.members(), chosen)
    program = py_spy.find_program()
    problem, remedy = py_spy.find_obstacle()
    at = time.time()
    if program is None or problem:
        sampled = [_Sampled(one, problem=problem) for one in targets]
        spread_s, problems = 0.0, [f"{problem}; remedy: {remedy}"]
    else:
        sampled, spread_s = _sample(program, targets, options)
        problems = _list_problems(sampled)
    forest = build_trees(_list_threads(sampled), _list_ranks(sampled))
    return Profile(
        at=at,
        host=host_name(),
        reason=reason,
        duration_s=options.duration_s,
        rate=options.rate,
        ranks=tuple(_describe_ranks(sampled)),
        frames=forest.frames,
        trees=forest.trees,
        spread_s=round(spread_s, 3),
        left_out=left_out,
        left_out_threads=sum(one.shown.left_out for one in sampled),
        left_out_trees=forest.left_out,
        idle_threads=sum(one.shown.idle for one in sampled),
        is_pausing=options.is_pausing,
        problems=tuple(problems),
    )


def _sample(
    program: str, targets: Iterable[Target], options: SamplingOptions
) -> tuple[list[_Sampled], float]:
    """Return the samples of each process, and the time between the first and the last begin."""
    found: list[_Sampled] = []
    running: list[tuple[Target, PySpySampler]] = []
    try:
        with ThreadPoolExecutor(1, "gpualert-profile") as pool:  # Ctrl-C interrupts no start
            pool.submit(_start, program, targets, options, running, found).result()
        samplers = [sampler for _one, sampler in running]
        processor = {one.pid: _read_processor_times(one.pid) for one, _sampler in running}
        began_at = time.monotonic()
        _await_begin(samplers)
        began = [one.began_at for one in samplers if one.began_at is not None]
        _await_end(samplers, max(began, default=began_at) + options.duration_s)
        stopped_at = time.monotonic()
        used = {pid: _find_used(pid, before) for pid, before in processor.items()}
        for sampler in samplers:
            sampler.stop()
        deadline = LoadScaledDeadline(_END_S)
        while any(one.ended_at is None for one in samplers) and deadline.left_s():
            _poll(samplers)
        for one, sampler in running:
            busy = None if options.with_idle else used[one.pid]
            found.append(_read_samples(one, sampler, stopped_at, busy))
    finally:
        for _one, sampler in running:
            sampler.close()
    found.sort(key=lambda one: (one.target.is_worker, one.target.rank or 0))
    return found, max(began, default=0.0) - min(began, default=0.0)


def _start(
    program: str,
    targets: Iterable[Target],
    options: SamplingOptions,
    running: list[tuple[Target, PySpySampler]],
    found: list[_Sampled],
) -> None:
    """Add a sampler for each process to ``running``, or its problem to ``found``."""
    for one in targets:
        problem = find_problem(one.pid)
        if problem:
            found.append(_Sampled(one, problem=problem))
        else:
            running.append((one, PySpySampler(program, one.pid, _choose_options(one, options))))


def _choose_options(target: Target, options: SamplingOptions) -> SamplingOptions:
    """Return the options for one process: one that is stopped or waits for a disk is not paused."""
    if not options.is_pausing or not is_fragile(
        read_wait(target.pid, target.pid, DescriptorReader({}))
    ):
        return options
    return replace(options, with_native=False)


def _await_begin(samplers: Sequence[PySpySampler]) -> None:
    deadline = LoadScaledDeadline(_START_S)
    while not _poll(samplers) and deadline.left_s():
        pass


def _await_end(samplers: Sequence[PySpySampler], until: float) -> None:
    """Return at that time, or once all have ended."""
    while time.monotonic() < until and any(one.ended_at is None for one in samplers):
        _poll(samplers)


def _poll(samplers: Sequence[PySpySampler]) -> bool:
    """Return whether all have begun or ended, after a short wait."""
    time.sleep(_POLL_S)
    states = [one.poll() for one in samplers]
    return all(states)


def _read_processor_times(pid: int) -> dict[int, int]:
    """Return the processor time of each thread so far, in nanoseconds."""
    try:
        tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return {}
    words = {tid: read(f"/proc/{pid}/task/{tid}/schedstat").split() for tid in tids}
    return {tid: int(found[0]) for tid, found in words.items() if found}


def _find_used(pid: int, before: Mapping[int, int]) -> dict[int, int]:
    """Return the processor time that each thread has used since then, in nanoseconds."""
    return {tid: now - before.get(tid, 0) for tid, now in _read_processor_times(pid).items()}


def _read_samples(
    target: Target, sampler: PySpySampler, stopped_at: float, used: Mapping[int, int] | None
) -> _Sampled:
    """Return the threads of a process to show, and its problem if it has one."""
    data, problem = sampler.read_output()
    lasted_s = 0.0
    if sampler.began_at is not None:
        ended_at = min(stopped_at, sampler.ended_at or stopped_at)
        lasted_s = round(max(0.0, ended_at - sampler.began_at), 2)
        if ended_at < stopped_at and not is_live(target.pid):
            problem = f"it ended after {lasted_s:.1f} s"
    elif not is_live(target.pid):
        problem = "it has ended"
    try:
        threads = parse_samples(data) if data else ()
    except ValueError as error:
        return _Sampled(target, problem=f"py-spy's output has another form: {error}")
    shown = choose_threads(threads, target.pid, used, lasted_s)
    if shown.main is None and not problem:
        problem = f"py-spy read no stack of {'its main thread' if threads else 'it'}"
    if not problem and is_stopped(target.pid):
        problem = "a signal has stopped it"
    return _Sampled(target, shown, sampler.count_errors(), lasted_s, problem)


def _list_ranks(sampled: Iterable[_Sampled]) -> list[int | None]:
    return [one.target.rank for one in sampled if not one.target.is_worker]


def _list_threads(sampled: Iterable[_Sampled]) -> Iterator[SampledThread]:
    """Yield the threads of ranks, and the main threads of their workers."""
    for one in sampled:
        is_worker, rank = one.target.is_worker, one.target.rank
        if one.shown.main is not None:
            kind = TreeKind.WORKERS if is_worker else TreeKind.MAIN
            yield SampledThread(kind, rank, one.shown.main)
        if not is_worker:
            for thread in one.shown.others:
                yield SampledThread(TreeKind.THREAD, rank, thread)


def _describe_ranks(sampled: Sequence[_Sampled]) -> Iterable[ProfiledRank]:
    for one in sampled:
        if one.target.is_worker:
            continue
        workers = [
            other
            for other in sampled
            if other.target.is_worker
            and other.target.rank == one.target.rank
            and other.shown.main is not None
        ]
        yield ProfiledRank(
            number=one.target.rank,
            pid=one.target.pid,
            samples=sum(one.shown.main.stacks.values()) if one.shown.main is not None else 0,
            errors=one.errors,
            lasted_s=one.lasted_s,
            problem=one.problem,
            workers=len(workers),
        )


def _list_problems(sampled: Iterable[_Sampled]) -> list[str]:
    """Return the problems of workers, each kind once."""
    texts: dict[str, int] = {}
    for one in sampled:
        if one.target.is_worker and one.problem:
            texts[one.problem] = texts.get(one.problem, 0) + 1
    return [f"{count} worker{'s' if count > 1 else ''}: {text}" for text, count in texts.items()]
