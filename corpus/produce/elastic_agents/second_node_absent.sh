# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# ///
# Two nodes are asked for and the agent of the second one never comes.
cat > train.py <<'PY'
import torch.distributed as dist

dist.init_process_group("gloo")
print("rank", dist.get_rank(), "of", dist.get_world_size())
PY
export TORCHELASTIC_ERROR_FILE=/dev/null LOGLEVEL=INFO
echo "[launch] job gpt-small-117, nodes 2, procs 2, agent 0"
torchrun --nnodes=2 --nproc-per-node=2 --rdzv-id=117 --rdzv-backend=c10d \
    --rdzv-endpoint=localhost:0 --rdzv-conf join_timeout=8,last_call_timeout=2 train.py 2>&1 \
    | sed -u 's/^/node0: /'
exit ${PIPESTATUS[0]}
