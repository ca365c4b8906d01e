"""A server on loopback that speaks the protocol of NCCL's RAS, and the statuses that it reports.

As a program: ``python -m tests.collectives.ras_server PORT STATUS...`` reports each of the files
once, and the last one from then on.
"""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEAD = """\
NCCL version 2.24.3 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  MISMATCH

Errors
======

"""
BEHIND = """\
Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 6650
  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 483072 on node 172.16.64.2

"""
DEAD = """\
DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 483072 on node 172.16.64.2 managing GPU 3

#0-0 (27a079b828ff1a75) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 3 -- GPU 3 managed by process 483072 on node 172.16.64.2

Warnings
========

"""


def make_json(counts: Sequence[dict[str, int]], dead: Sequence[int] = ()) -> str:
    """Return a status in JSON: one communicator, with the counts of each rank."""

    def identify(rank: int) -> dict[str, Any]:
        place = {"host": f"10.0.0.{rank // 4}", "pid": 100 + rank, "cuda_dev": rank % 4}
        return {"rank": rank, **place, "nvml_dev": rank % 4}

    ranks = [
        {**identify(rank), "status": {"init_state": 0}, "collective_counts": found}
        for rank, found in enumerate(counts)
        if rank not in dead
    ]
    status = {"unresponsive": True, "considered_dead": True}
    communicator = {
        "hash": "0x27a079b828ff1a75",
        "secondary_hash": "0x1:0x2",
        "size": len(counts),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(dead),
        "ranks": ranks,
        "missing_ranks": [{**identify(rank), "status": status} for rank in dead],
    }
    return json.dumps({"nccl_version": "2.28.7", "communicators": [communicator]}, indent=2)


class _Handler(socketserver.StreamRequestHandler):
    """One client."""

    server: RasServer

    def handle(self) -> None:
        """Answer commands until the status is asked for."""
        is_json = False
        for line in self.rfile:
            command = line.decode().strip().upper()
            if command.startswith("CLIENT PROTOCOL "):
                self.wfile.write(self.server.greeting)
            elif command.startswith("TIMEOUT "):
                self.wfile.write(b"OK\n")
            elif command == "SET FORMAT JSON" and self.server.has_json:
                is_json = True
                self.wfile.write(b"OK\n")
            elif command == ("STATUS" if is_json else "VERBOSE STATUS"):
                self.wfile.write(self.server.next_status().encode())
                return
            else:
                self.wfile.write(f"ERROR: Unknown command {command}\n".encode())


class RasServer(socketserver.ThreadingTCPServer):
    """Reports the *statuses* one after the other, and the last one from then on."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, statuses: Sequence[str], *, port: int = 0, has_json: bool = True) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._statuses = list(statuses)
        self.has_json = has_json
        self.greeting = b"SERVER PROTOCOL 2\n"

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.server_address[1]}"

    def next_status(self) -> str:
        """Return the next status."""
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


if __name__ == "__main__":
    texts = [Path(path).read_text() for path in sys.argv[2:]]
    server = RasServer(texts, port=int(sys.argv[1]))
    print("listens", flush=True)
    server.serve_forever()
