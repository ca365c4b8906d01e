# /// case
# cause = "command_not_found"
# exit_code = 127
# ///
# The launcher is not on the PATH of the batch shell.
set -euo pipefail
export NCCL_DEBUG=WARN MASTER_PORT=29501
echo "Job started at $(date) on $(hostname)"
echo "Python: $(command -v python)"
srun --ntasks=1 --gres=gpu:1 python -u train.py --config configs/base.yaml
echo "Job finished at $(date)"
