# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# why = "an option that the launcher does not know"
# ///
# torchrun refuses an option of another launcher.
set -e
echo "Launching on $(nproc --all > /dev/null && echo 1) node(s)"
torchrun --standalone --num-gpus 2 --nproc-per-node 2 train.py --epochs 3
