"""Output around a training program: nvidia-smi, NCCL, the kernel, schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpus.compose._gpu_tape import Tape

OMP = (
    "*****************************************\n"
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, "
    "please further tune the variable for optimal performance in your application as needed. \n"
    "*****************************************"
)


@dataclass(frozen=True, slots=True)
class Card:
    """One row of nvidia-smi; memory in MiB, ``ecc`` as the table shows it."""

    name: str = "NVIDIA H100 80GB HBM3"
    bus: str = "00000000:1B:00.0"
    used: int = 3
    total: int = 81559
    temperature: int = 34
    watts: int = 71
    cap: int = 700
    busy: int = 0
    ecc: str = "0"


def omp(tape: Tape, version: str) -> str:
    """Return torchrun's notice about OMP_NUM_THREADS in the form of torch *version*."""
    if version in ("1.8", "1.10", "1.12", "1.13", "2.0"):
        return "WARNING:torch.distributed.run:\n" + OMP
    if version in ("2.1", "2.2"):
        head = f"[{tape.milli()}] torch.distributed.run: [WARNING] "
    else:
        line = {"2.3": 757, "2.4": 779, "2.5": 793, "2.6": 792}.get(version, 766)
        head = f"W{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(1000):03d}000 {tape.rng.randrange(4000, 90000)} torch/distributed/run.py:{line}] "
    return "\n".join(head + one for one in ("", *OMP.split("\n")))


def smi(
    tape: Tape,
    cards: Sequence[Card],
    *,
    driver: str = "550.90.07",
    cuda: str = "12.4",
    owners: Sequence[str] = (),
) -> str:
    """Return the table of nvidia-smi since driver 545."""
    edge, double = "+" + "-" * 89 + "+", "|" + "=" * 41 + "+" + "=" * 24 + "+" + "=" * 22 + "|"
    split = "|" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+"
    rows = [
        tape.when("%a %b %d %H:%M:%S %Y") + "       ",
        edge,
        f"| NVIDIA-SMI {driver:<23}Driver Version: {driver:<15}CUDA Version: {cuda:<8} |",
        split,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        double,
    ]
    for at, card in enumerate(cards):
        memory = f"{card.used}MiB / {card.total}MiB"
        rows += [
            f"| {at:3d}  {card.name:<27}    On  | {card.bus:>18} Off | {card.ecc:>20} |",
            f"| N/A   {card.temperature}C    P0             {card.watts:4d}W / {card.cap:4d}W | {memory:>22} | {card.busy:7d}%      Default |",
            f"|                                         |                        | {'Disabled':>20} |",
            "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+",
        ]
    rows += [
        " " * 91,
        edge,
        f"| {'Processes:':<87} |",
        f"| {' GPU   GI   CI        PID   Type   Process name                              GPU Memory':<87} |",
        f"| {'       ID   ID                                                               Usage':<87} |",
        "|" + "=" * 89 + "|",
        *(f"| {one:<87} |" for one in owners or (" No running processes found",)),
        edge,
    ]
    return "\n".join(rows)


def nccl_start(
    tape: Tape,
    host: str,
    pids: Sequence[int],
    *,
    version: str = "2.20.5+cuda12.4",
    net: str = "IB",
    address: str = "10.4.17.21",
    interface: str = "eth0",
    first: int = 0,
    world: int = 0,
) -> str:
    """Return the lines of NCCL_DEBUG=INFO from the bootstrap to ``Init COMPLETE``, for the ranks of one host."""
    world = world or len(pids)
    lines = [
        f"{host}:{pids[0]}:{pids[0]} [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to {interface}"
    ]
    for gpu, pid in enumerate(pids):
        lines += [
            f"{host}:{pid}:{pid} [{gpu}] NCCL INFO cudaDriverVersion 12040",
            f"{host}:{pid}:{pid} [{gpu}] NCCL INFO Bootstrap : Using {interface}:{address}<0>",
        ]
    lines.append(f"NCCL version {version}")
    using = {
        "IB": "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB {0}:{1}<0>",
        "RoCE": "NET/IB : Using [0]mlx5_bond_0:1/RoCE [1]mlx5_bond_1:1/RoCE [RO]; OOB {0}:{1}<0>",
        "Socket": "NET/Socket : Using [0]{0}:{1}<0>",
        "AWS Libfabric": "NET/OFI Selected Provider is efa (found 4 nics)",
    }[net].format(interface, address)
    for gpu, pid in enumerate(pids):
        thread = pid + 80 + tape.rng.randrange(40)
        who = f"{host}:{pid}:{thread} [{gpu}] NCCL INFO"
        if net == "Socket":
            lines.append(f"{who} NET/IB : No device found.")
        lines += [
            f"{who} {using}",
            f"{who} Using non-device net plugin version 0",
            f"{who} Using network {net if net != 'RoCE' else 'IB'}",
            f"{who} ncclCommInitRank comm 0x{tape.rng.randrange(16**12):012x} rank {first + gpu} nranks {world} cudaDev {gpu} nvmlDev {gpu} busId {0x1B + gpu * 0x11:x}000 commId 0x{0x5D1E3A66B1F04C2A:x} - Init START",
        ]
    for gpu, pid in enumerate(pids):
        who = f"{host}:{pid}:{pid + 140 + gpu} [{gpu}] NCCL INFO"
        lines += [
            f"{who} Channel 00/0 : {first + gpu}[{gpu}] -> {(first + gpu + 1) % world}[{(gpu + 1) % len(pids)}] via P2P/CUMEM/read",
            f"{who} Connected all rings",
            f"{who} Connected all trees",
            f"{who} threadThresholds 8/8/64 | {8 * world}/8/64 | 512 | 512",
            f"{who} ncclCommInitRank comm 0x{tape.rng.randrange(16**12):012x} rank {first + gpu} nranks {world} cudaDev {gpu} nvmlDev {gpu} busId {0x1B + gpu * 0x11:x}000 commId 0x{0x5D1E3A66B1F04C2A:x} - Init COMPLETE",
        ]
    return "\n".join(lines)


def kernel(tape: Tape, host: str, *messages: str, form: str = "journal") -> str:
    """Return kernel messages in the form of the journal (``journal``) or ``dmesg``, ``dmesg -T``."""
    lines = []
    up = 182304.0 + tape.rng.random() * 90000
    for message in messages:
        up += tape.rng.random() * 0.2
        match form:
            case "journal":
                lines.append(f"{tape.when('%b %d %H:%M:%S')} {host} kernel: {message}")
            case "dmesg -T":
                lines.append(f"[{tape.when('%a %b %d %H:%M:%S %Y')}] {message}")
            case _:
                lines.append(f"[{up:12.6f}] {message}")
    return "\n".join(lines)


def xid(bus: str, number: int, text: str, *, pid: int | None = None, name: str = "python") -> str:
    """Return the line of NVRM for one Xid."""
    who = "" if pid is None else f" pid={pid}, name={name},"
    return f"NVRM: Xid (PCI:{bus}): {number},{who} {text}"


def steps(
    tape: Tape,
    form: str,
    numbers: Sequence[int],
    *,
    loss: float = 3.2,
    floor: float = 1.6,
    seconds: float = 1.3,
) -> str:
    """Return progress lines: *form* takes step, loss, norm, lr, time, when and milli."""
    lines = []
    gap = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    for at in numbers:
        tape.wait(seconds)
        value = floor + (loss - floor) / (1 + at / max(numbers[-1], 1) * 3)
        lines.append(
            form.format(
                step=at,
                loss=tape.near(value, 0.03),
                norm=tape.near(0.9, 0.4),
                lr=max(2e-5 * (1 - at / 12000), 1e-7),
                time=tape.near(seconds / gap, 0.06),
                when=tape.when(),
                milli=tape.milli(),
            )
        )
    return "\n".join(lines)
