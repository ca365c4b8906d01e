"""The job that a run belongs to: by an option, the engine, or the variables of a scheduler.

Plain functions, because the child waits for this import.
"""

from __future__ import annotations

from gpualert_common.slurm_place import SPECIAL_STEPS, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpualert_common.launch_record import JobMembership, Owner

NO_JOB = "none"
"""Name of a job, as the option has it, for a run that belongs to none."""
MOST_KEY_CHARS = 100
MOST_NAME_CHARS = 200

_HASH_BYTES = 8
_CUT = "--"
"""Stands before the hash in a key, and in no key without one."""
_MOST_JSON_CHARS = 256 << 10
_ENGINES = ("airflow", "prefect")
_OPERATOR_ROLES = ("master", "worker", "launcher", "chief", "ps", "evaluator")


def find_job(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    name: str | None = None,
    owner: Owner | None = None,
    directory: str | None = None,
) -> JobMembership | None:
    """Return the job of a run, None if it belongs to none.

    ``environment`` is that of the command.  The first that names a job counts: ``name``, the
    engine's task in ``owner``, Slurm, torchrun, Kubernetes, Ray.  A ``name`` takes the place of the
    run in its job from the others.
    """
    if name == NO_JOB:
        return None
    found = _find(command, environment, owner, name)
    if found is not None and directory is not None:
        found["directory"] = directory
    return found


def make_key(origin: str, *parts: str) -> str:
    """Return the folder of a job: safe in paths and names of objects, and at most 100 characters.

    Two jobs never share one: where parts are joined, or characters replaced or cut, a hash follows.
    """
    name = "-".join(parts)
    safe = "".join(one if (one.isascii() and one.isalnum()) or one in "._" else "-" for one in name)
    key = f"{origin}-{safe}"
    if len(parts) == 1 and safe == name and _CUT not in key and len(key) <= MOST_KEY_CHARS:
        return key
    try:
        from _blake2 import blake2b  # hashlib takes 4 ms, for which the child would wait
    except ImportError:
        from hashlib import blake2b
    whole = "\0".join((origin, *parts)).encode("utf-8", "surrogatepass")
    digest = blake2b(whole, digest_size=_HASH_BYTES).hexdigest()
    short = key[: MOST_KEY_CHARS - len(_CUT) - len(digest)].rstrip("-")
    while _CUT in short:
        short = short.replace(_CUT, "-")
    return f"{short}{_CUT}{digest}"


def name_slurm_job(job_id: str, cluster: str | None, step: str | None = None) -> JobMembership:
    """Return the job of Slurm's job ``job_id``, such as "17" or "17_3", or of one of its steps.

    The ids of two clusters that share a directory may be the same, so the key has the cluster.
    """
    name = job_id if step is None else f"{job_id}.{step}"
    if not cluster:
        key = make_key("slurm", name)
    elif _is_plain(cluster):
        key = make_key("slurm", f"{cluster}-{name}")
    else:
        key = make_key("slurm", cluster, name)
    return {"key": key, "name": name, "origin": "slurm"}


def _find(
    command: Sequence[str], environment: Mapping[str, str], owner: Owner | None, name: str | None
) -> JobMembership | None:
    if name:
        return _of_name(command, environment, owner, name)
    task = _of_task(owner)
    return task or next(_of_environment(command, environment), None)


def _of_environment(
    command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[JobMembership]:
    for found in (
        _of_slurm(environment),
        _of_torchrun(command, environment),
        _of_kubernetes(environment),
        _of_ray(environment),
    ):
        if found is not None:
            yield found


# -- by name and engine --------------------------------------------------------------------------


def _of_name(
    command: Sequence[str], environment: Mapping[str, str], owner: Owner | None, name: str
) -> JobMembership:
    """Return the job of the option; its places are those of the scheduler or the engine."""
    text = name[:MOST_NAME_CHARS]
    found: JobMembership = {"key": make_key("job", name), "name": text, "origin": "option"}
    known = _place_of_torchrun(command, environment)
    for other in (known, *_of_environment(command, environment)):
        for field in ("attempt", "node", "nodes"):
            if field in other and field not in found:
                found[field] = other[field]
    if owner and owner.get("key"):
        found.setdefault("attempt", owner.get("number", 1))
        index = owner.get("task", {}).get("map_index")
        if index is not None and index >= 0:
            found.setdefault("node", index)
    return found


def _of_task(owner: Owner | None) -> JobMembership | None:
    """Return the job of an engine's task, which all attempts at it share; it has one run a time."""
    if not owner or not owner.get("key"):
        return None
    task = owner.get("task", {})
    shown = [task[name] for name in ("workflow", "workflow_run", "task") if task.get(name)]
    if "map_index" in task:
        shown.append(f"[{task['map_index']}]")
    parts = [str(part) for part in owner["key"]]
    key = (
        make_key(parts[0], *parts[1:])
        if parts[0] in _ENGINES and parts[1:]
        else make_key("engine", *parts)
    )
    name = " ".join(shown) if shown else " ".join(parts)
    return {
        "key": key,
        "name": _printable(name) or parts[0],
        "origin": "engine",
        "attempt": owner.get("number", 1),
        "node": 0,
        "nodes": 1,
    }


# -- Slurm ---------------------------------------------------------------------------------------


def _of_slurm(environment: Mapping[str, str]) -> JobMembership | None:
    """Return the job of Slurm, or the step that runs on all nodes of it.

    Trainings that follow each other in one allocation are steps of their own; a smaller step is a
    part of one.  Outside of a step there is one run, whatever it starts by srun.
    """
    get = environment.get
    job_id = _digits(get("SLURM_HET_JOB_ID") or get("SLURM_JOB_ID") or get("SLURM_JOBID"))
    if job_id is None:
        return None
    array, task = _digits(get("SLURM_ARRAY_JOB_ID")), _digits(get("SLURM_ARRAY_TASK_ID"))
    if array is not None and task is not None:
        job_id = f"{array}_{task}"
    is_het = bool(get("SLURM_HET_JOB_ID"))
    step = _number(get("SLURM_STEP_ID") or get("SLURM_STEPID"))
    is_in_step = step is not None and step < SPECIAL_STEPS
    all_nodes = _number(get("SLURM_JOB_NUM_NODES"))
    step_nodes = _number(get("SLURM_STEP_NUM_NODES"))
    is_whole = is_in_step and not is_het and step_nodes is not None and step_nodes == all_nodes
    cluster = (get("SLURM_CLUSTER_NAME") or "")[:MOST_NAME_CHARS] or None
    found = name_slurm_job(job_id, cluster, str(step) if is_whole else None)
    restarts = _number(get("SLURM_RESTART_COUNT"))
    found["attempt"] = 1 + (restarts or 0)
    if not is_in_step:
        found["node"], found["nodes"] = 0, 1
    elif is_whole:
        _set_place(found, get("SLURM_NODEID"), get("SLURM_STEP_NUM_NODES"))
    return found


# -- torchrun ------------------------------------------------------------------------------------


def _of_torchrun(command: Sequence[str], environment: Mapping[str, str]) -> JobMembership | None:
    """Return the job of a worker of torchrun, or of a command that starts torchrun."""
    inside = _named_id(environment.get("TORCHELASTIC_RUN_ID"))
    if inside is not None:
        found: JobMembership = {
            "key": make_key("torchrun", inside),
            "name": inside,
            "origin": "torchrun",
        }
        restarts = _number(environment.get("TORCHELASTIC_RESTART_COUNT"))
        if restarts is not None:
            found["attempt"] = 1 + restarts
        return _set_place(found, environment.get("GROUP_RANK"), environment.get("GROUP_WORLD_SIZE"))
    options = _options_of_torchrun(command, environment)
    given = _named_id(options.get("rdzv_id"))
    if given is None:
        return None
    found = {"key": make_key("torchrun", given), "name": given, "origin": "torchrun"}
    return _set_place(found, options.get("node_rank"), options.get("nnodes"))


def _place_of_torchrun(command: Sequence[str], environment: Mapping[str, str]) -> JobMembership:
    options = _options_of_torchrun(command, environment)
    return _set_place({}, options.get("node_rank"), options.get("nnodes"))


def _options_of_torchrun(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return torchrun's options about the job, which it also reads from variables (``PET_*``)."""
    if not any("torchrun" in word or "torch.distributed" in word for word in command):
        return {}
    from gpualert_common.command_options import parse_options  # most commands do without

    found: dict[str, str] = {}
    for name, value in parse_options(command):
        if name in ("rdzv_id", "nnodes", "node_rank"):
            found.setdefault(name, value)
    for name in ("rdzv_id", "nnodes", "node_rank"):
        if name not in found and f"PET_{name.upper()}" in environment:
            found[name] = environment[f"PET_{name.upper()}"]
    return found


def _named_id(text: str | None) -> str | None:
    """Return the id of a rendezvous; None without one, and for torchrun's default."""
    shown = _printable(text or "")
    return None if shown in ("", "none") else shown


# -- Kubernetes and Ray --------------------------------------------------------------------------


def _of_kubernetes(environment: Mapping[str, str]) -> JobMembership | None:
    """Return the job of a pod: an indexed Job (also those of a JobSet), or one of Kubeflow.

    Both name their pods: ``JOB-INDEX``, and ``JOB-worker-INDEX``.
    """
    host = (environment.get("HOSTNAME") or "").partition(".")[0]
    if not environment.get("KUBERNETES_SERVICE_HOST") or not host:
        return None
    stem, _dash, last = host.rpartition("-")
    index = environment.get("JOB_COMPLETION_INDEX")
    if index is not None and stem and last == index:
        name, node = stem, environment.get("PET_NODE_RANK") or index
    else:
        name, _dash, role = stem.rpartition("-")
        if not name or role not in _OPERATOR_ROLES or _number(last) is None:
            return None
        node = environment.get("PET_NODE_RANK") or ""
    namespace = _printable(environment.get("POD_NAMESPACE") or "")
    name = _printable(name)
    found: JobMembership = {
        "key": make_key("kubernetes", f"{namespace}_{name}" if namespace else name),
        "name": name,
        "origin": "kubernetes",
    }
    return _set_place(found, node, environment.get("PET_NNODES"))


def _of_ray(environment: Mapping[str, str]) -> JobMembership | None:
    """Return the job of Ray's submission id; its driver has the id in a variable."""
    text = environment.get("RAY_JOB_CONFIG_JSON_ENV_VAR")
    if not text or len(text) > _MOST_JSON_CHARS:
        return None
    import json

    try:
        submission = json.loads(text)["metadata"]["job_submission_id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    name = _printable(submission) if isinstance(submission, str) else ""
    if not name:
        return None
    return {"key": make_key("ray", name), "name": name, "origin": "ray", "node": 0, "nodes": 1}


# -- values --------------------------------------------------------------------------------------


def _set_place(found: JobMembership, node: str | None, nodes: str | None) -> JobMembership:
    """Add index and number of the nodes where both are plain numbers that agree."""
    index, number = _number(node), _number(nodes)
    if number is not None and number > 0:
        found["nodes"] = number
    if index is not None and (number is None or index < number):
        found["node"] = index
    return found


def _digits(text: str | None) -> str | None:
    return text if text is not None and is_number(text) else None


def _number(text: str | None) -> int | None:
    digits = _digits(text)
    return None if digits is None else int(digits)


def _printable(text: str) -> str:
    return "".join(one for one in text[:MOST_NAME_CHARS] if one.isprintable()).strip()


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("_", "").isalnum()
