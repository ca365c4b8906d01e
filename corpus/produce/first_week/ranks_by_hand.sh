# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# why = "what a launcher sets for the ranks is set by hand, and the master's address is left out"
# ///
# The ranks are started by hand in the background, and the variable with the master's address is missing.
cat > average.py <<'PY'
import os

import torch
import torch.distributed as dist

torch.set_num_threads(1)
print(f"worker {os.environ['RANK']} of {os.environ['WORLD_SIZE']} starts", flush=True)
torch.manual_seed(int(os.environ["RANK"]))
weights = torch.randn(1000)
dist.init_process_group("gloo")
dist.all_reduce(weights)
print("average norm", (weights / dist.get_world_size()).norm().item())
dist.destroy_process_group()
PY
export WORLD_SIZE=2
for RANK in 0 1; do
    RANK=$RANK python average.py 2>&1 | sed "s/^/[$RANK] /" > worker$RANK.txt &
done
wait
cat worker0.txt worker1.txt
if grep -q Traceback worker*.txt; then
    echo "some workers failed, see above"
    exit 1
fi
