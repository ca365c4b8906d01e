# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the script given to torchrun does not exist; the agent reports exit code 2"
# ///
# torchrun starts a script that does not exist.
ls
torchrun --standalone --nproc-per-node 1 trian.py --config base.yaml
