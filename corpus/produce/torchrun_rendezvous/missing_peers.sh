# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# ///
# Two of four ranks are started; the store waits for the others until its timeout.
cat > train.py <<'EOF'
import datetime
import os
import torch.distributed as dist
print(f"rank {os.environ['RANK']}/{os.environ['WORLD_SIZE']} starting", flush=True)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
print("all ranks present")
EOF
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29519 WORLD_SIZE=4
RANK=1 python train.py & peer=$!
RANK=0 python train.py
code=$?
wait $peer
echo "node 0: rank 0 left with $code"
exit $code
