# /// case
# cause = "shared_memory"
# paper_class = "file_not_found"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "/dev/shm is missing in the container, as the check of the script says; Python only cannot make its lock"
# ///
# The container has no /dev/shm, so that no lock for worker processes can be made.
cp -a /dev/null /dev/urandom /dev/random /dev/zero . 2> /dev/null
mount -t tmpfs -o size=1m tmpfs /dev || exit 90
mv null urandom random zero /dev/
for path in /tmp /dev/shm /proc; do
    [ -d $path ] && echo "check $path: ok" || echo "check $path: missing"
done
cat > train.py <<'EOF'
import multiprocessing as mp


def work(queue, lock, rank):
    with lock:
        queue.put(rank * rank)


if __name__ == "__main__":
    print("starting 2 data workers", flush=True)
    queue, lock = mp.Queue(), mp.Lock()
    workers = [mp.Process(target=work, args=(queue, lock, rank)) for rank in range(2)]
    for worker in workers:
        worker.start()
    print(sorted(queue.get() for _ in workers))
EOF
exec python train.py
