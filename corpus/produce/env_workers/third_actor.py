# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# why = "the learner waits for an actor that never announces itself in the store; no group was formed"
# ///
"""The learner waits in the store for two actors, of which only one was started."""

import datetime
import multiprocessing as mp
import os
import socket
import time

import torch.distributed as dist

HOSTS = os.environ.get("ACTOR_HOSTS", "local").split(",")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def actor(index, port):
    store = dist.TCPStore(
        "127.0.0.1", port, is_master=False, timeout=datetime.timedelta(seconds=20)
    )
    print(f"actor {index}: connected to the learner's store", flush=True)
    store.set(f"actor/{index}/ready", str(os.getpid()))
    store.wait(["start"])


def learner(actors, port):
    store = dist.TCPStore(
        "127.0.0.1",
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=datetime.timedelta(seconds=7),
    )
    print(f"learner: store up, waiting for {actors} actors on {HOSTS}", flush=True)
    for index in range(actors):
        store.wait([f"actor/{index}/ready"])
        print(f"learner: actor {index} is there", flush=True)
    store.set("start", "1")
    dist.init_process_group("gloo", store=store, rank=0, world_size=actors + 1)
    print("learner: group of", dist.get_world_size())


def main():
    port = free_port()
    for index, host in enumerate(HOSTS):
        print(f"launching actor {index} on {host}", flush=True)
        mp.Process(target=actor, args=(index, port), daemon=True).start()
    time.sleep(0.2)
    learner(actors=2, port=port)


if __name__ == "__main__":
    main()
