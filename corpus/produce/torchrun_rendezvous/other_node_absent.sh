# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# ///
# The second node never joins, and the rendezvous times out on the first.
cat > train.py <<'EOF'
import torch
EOF
export LOGLEVEL=INFO
torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-id vit --rdzv-endpoint 127.0.0.1:29521 \
    --rdzv-conf join_timeout=5,last_call_timeout=1,timeout=8 train.py
