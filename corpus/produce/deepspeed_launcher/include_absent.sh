# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {DS_ACCELERATOR = "cpu"}
# why = "a slot that the host does not have is named on the launcher's command line"
# ///
# --include names a slot that this host does not have.
echo 'print("training")' > train.py
printf 'localhost slots=2\n' > hostfile
deepspeed --hostfile hostfile --include localhost:0,5 train.py
