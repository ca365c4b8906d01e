"""Two processes without a framework, of which one waits for an answer that never comes.

Its arguments are a role, the mode in which the answer does not come, and the path of a file in
which the two meet.  The role "launch" starts both, which then meet in pipes.
"""

import multiprocessing
import os
import socket
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection

from tests.stacks import hanging_modes


def fail_to_answer(mode: str) -> None:
    """Hang in a way, or exit."""
    print("ready", flush=True)
    if mode == "exit":
        os._exit(1)
    getattr(hanging_modes, mode)()


def answer(mode: str, path: str) -> None:
    """Accept a connection, and do not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with open(f"{path}.new", "w") as file:
            file.write(str(server.getsockname()[1]))
        os.rename(f"{path}.new", path)
        connection, _address = server.accept()
        connection.recv(1)
        fail_to_answer(mode)


def ask(_mode: str, path: str) -> None:
    """Wait for an answer over a connection."""
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path) as file, socket.create_connection(("127.0.0.1", int(file.read()))) as peer:
        peer.send(b"?")
        peer.recv(1)


def fill(mode: str, path: str) -> None:
    """Open a named pipe, and write nothing into it."""
    with open(path, "wb"):
        fail_to_answer(mode)


def drain(_mode: str, path: str) -> None:
    """Read a named pipe."""
    with open(path, "rb") as file:
        file.read(1)


def receive(connection: Connection) -> None:
    """Wait for an object of the other process."""
    connection.recv()


def send_nothing(connection: Connection, mode: str) -> None:
    """Send no object to the other process."""
    if mode == "receive":
        print("ready", flush=True)
        receive(connection)
    else:
        fail_to_answer(mode)
    connection.close()


def launch(mode: str, _path: str) -> None:
    """Start both processes with a pipe between them, and wait for them."""
    context = multiprocessing.get_context("fork")
    ends = context.Pipe()
    processes = [
        context.Process(target=receive, args=(ends[0],)),
        context.Process(target=send_nothing, args=(ends[1], mode)),
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def delegate(mode: str, _path: str) -> None:
    """Wait for the result of a process of a pool."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, context) as pool:
        pool.submit(fail_to_answer, mode).result()


ROLES = {
    "answer": answer,
    "ask": ask,
    "delegate": delegate,
    "drain": drain,
    "fill": fill,
    "launch": launch,
}
ROLES[sys.argv[1]](sys.argv[2], sys.argv[3])
