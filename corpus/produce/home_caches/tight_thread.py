# /// case
# cause = "too_many_files"
# paper_class = "runtime_error"
# exit_code = 1
# command = "setpriv --bounding-set=-sys_resource,-sys_admin --reuid 61234 --inh-caps=+dac_override --ambient-caps=+dac_override bash -c 'ulimit -u 40; python {program}'"
# needs = ["root"]
# why = "no thread can be started because of the limit of processes"
# ///
"""Prefetching starts a thread per file, more than the user may have."""

import threading
import time


def prefetch(name, done):
    done.wait()


done = threading.Event()
threads = []
for n in range(200):
    thread = threading.Thread(target=prefetch, args=(f"shard-{n}", done), daemon=True)
    thread.start()
    threads.append(thread)
    if n % 10 == 0:
        print(f"prefetching {n + 1} shards", flush=True)
    time.sleep(0.001)
done.set()
