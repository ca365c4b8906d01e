# /// case
# cause = "too_many_files"
# paper_class = "runtime_error"
# exit_code = 1
# needs = ["root"]
# why = "the limit on processes and threads"
# ///
# The pod may have only a few threads, and the reader starts one for each shard.
group=/sys/fs/cgroup/pids/job_7731
mkdir -p $group || exit 90
echo 24 > $group/pids.max
cat > reader.py <<'EOF'
import logging
import threading
import time

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
done = threading.Event()


def prefetch(shard):
    logging.info("prefetching shard-%05d.tar", shard)
    done.wait(5)


threads = []
for shard in range(64):
    thread = threading.Thread(target=prefetch, args=(shard,), name=f"reader-{shard}", daemon=True)
    thread.start()
    threads.append(thread)
time.sleep(1)
done.set()
logging.info("all %d readers finished", len(threads))
EOF
(
    echo $BASHPID > $group/cgroup.procs
    exec python reader.py
)
code=$?
sleep 0.3
rmdir $group
exit $code
