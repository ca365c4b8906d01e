# /// case
# cause = "none"
# exit_code = 0
# why = "the stalled worker is killed and replaced, and all of the work is done"
# ///
"""A worker stalls, is killed by its supervisor and replaced; all shards are processed."""

import multiprocessing as mp
import time


def tokenize(shard, attempt, results):
    if shard == 2 and attempt == 0:
        time.sleep(60)
    results.put((shard, 1000 + shard))


def main():
    context = mp.get_context("fork")
    done = {}
    for shard in range(5):
        for attempt in range(3):
            results = context.SimpleQueue()
            worker = context.Process(target=tokenize, args=(shard, attempt, results))
            worker.start()
            worker.join(3)
            if worker.is_alive():
                print(
                    f"WARNING: worker for shard {shard} timed out after 3 s, sending SIGKILL and retrying"
                )
                worker.kill()
                worker.join()
                print(f"WARNING: worker exited with code {worker.exitcode}")
                continue
            done.update([results.get()])
            break
    print(f"{len(done)}/5 shards done, {sum(done.values())} tokens, 1 worker was replaced")


main()
