"""Stand-in for a PyTorch process: it speaks Kineto's protocol, and writes a trace when asked to.

Its argument is the way it behaves: "write", "cut" (the file ends early), "link" (a link in place of
the file), "silent" (it asks once, and never again), "refuse" (it gets a configuration, and writes
nothing), or "once" (it exits with the configuration).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
import uuid

_PERIOD_S = 0.1


def ask(sock: socket.socket, directory: str, pid: int) -> dict[str, str]:
    """Return the configuration that the daemon gives now; empty for none."""
    try:
        send_question(sock, directory, pid)
        answer = sock.recv(1 << 16)
    except OSError:
        return {}
    lines = answer[40:].decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


def send_question(sock: socket.socket, directory: str, pid: int) -> None:
    """Ask for a configuration."""
    payload = struct.pack("=iiqi", 3, 1, 0, pid)
    datagram = struct.pack("=Q32s", len(payload), b"req") + payload
    sock.sendto(datagram, f"{directory}/dynolog")


def open_client(directory: str) -> socket.socket:
    """Return a socket with the kind of name that Kineto gives its own."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(f"{directory}/dynoconfigclient{uuid.uuid4()}")
    sock.settimeout(1)
    return sock


def write_trace(path: str, pid: int, mode: str) -> None:
    """Write a trace as Kineto does: the process number in its name, and renamed once complete."""
    final = f"{path.removesuffix('.json')}_{pid}.json"
    event: dict[str, object] = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "pid": pid,
        "tid": pid,
    }
    event |= {"ts": 1000.0, "dur": 1.0}
    text = json.dumps({"baseTimeNanoseconds": time.time_ns(), "traceEvents": [event]})
    if mode == "link":
        os.symlink("/etc/passwd", final)
        return
    with open(f"{final}.tmp", "w", encoding="utf-8") as file:
        file.write(text[:-5] if mode == "cut" else text)
    os.rename(f"{final}.tmp", final)


def main(mode: str) -> None:
    """Ask until this process is ended."""
    directory = os.environ["KINETO_IPC_SOCKET_DIR"]
    sock = open_client(directory)
    pid = os.getpid()
    print("asking", flush=True)
    while True:
        given = ask(sock, directory, pid)
        print("asked", flush=True)
        if given and mode == "once":
            return
        if given and mode != "refuse":
            write_trace(given["ACTIVITIES_LOG_FILE"], pid, mode)
        time.sleep(3600 if mode == "silent" else _PERIOD_S)


if __name__ == "__main__":
    main(sys.argv[1])
