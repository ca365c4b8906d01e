# /// case
# cause = "config"
# exit_code = 2
# ///
# torchrun does not know an option.

cd "$HOME" || exit 3
torchrun --nproc-per-gpu=2 --standalone train.py
