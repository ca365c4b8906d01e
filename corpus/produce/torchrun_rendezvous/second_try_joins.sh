# /// case
# cause = "none"
# exit_code = 0
# why = "rank 1 is refused several times until the master is up; then the group forms and works"
# ///
# The master is slow to start: the other rank is refused again and again, and then joins.
cat > train.py <<'EOF'
import datetime, os, socket, sys, time
import torch, torch.distributed as dist
rank, master = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    time.sleep(6)
while rank:
    try:
        socket.create_connection(master, 1).close()
        break
    except OSError as error:
        print(f"[rank {rank}] master {master[0]}:{master[1]} not reachable: {error!r}, retrying in 3s", file=sys.stderr, flush=True)
        time.sleep(3)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
x = torch.ones(3) * (rank + 1)
dist.all_reduce(x)
print(f"[rank {rank}] sum over ranks {x.tolist()}", flush=True)
dist.barrier()
if rank == 1:
    time.sleep(1)
EOF
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29523 WORLD_SIZE=2
RANK=1 python train.py & peer=$!
RANK=0 python train.py && wait $peer && echo "both ranks finished"
