# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {DS_ACCELERATOR = "cpu"}
# ///
# The launcher cannot read the host file: a line has no slots.
printf 'worker-1 slots=8\nworker-2 8\n' > hostfile
echo "hosts:" && cat hostfile
deepspeed --hostfile hostfile --num_nodes 2 train.py --deepspeed
