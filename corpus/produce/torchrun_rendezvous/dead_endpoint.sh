# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# ///
# The agent of the second node cannot reach the rendezvous endpoint.
echo "NODE_RANK=1: joining rendezvous at 127.0.0.1:29599"
echo 'print("never reached")' > train.py
torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-id 4711 \
    --rdzv-endpoint 127.0.0.1:29599 --rdzv-conf is_host=0,read_timeout=5 train.py
