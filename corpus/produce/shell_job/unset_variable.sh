# /// case
# cause = "config"
# exit_code = 1
# why = "an environment variable that the script needs is not set"
# ///
# A variable of the environment is used without having been set.
set -eu
echo "==> host $(uname -s), $(nproc --all) cpus"
RUN_NAME="llama-sft-$(date +%Y%m%d)"
echo "==> run name $RUN_NAME"
OUT="${OUTPUT_ROOT}/$RUN_NAME"
mkdir -p "$OUT"
python train.py --output "$OUT"
