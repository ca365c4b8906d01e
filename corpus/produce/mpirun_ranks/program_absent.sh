# /// case
# cause = "command_not_found"
# paper_class = ""
# exit_code = 134
# needs = ["root", "openmpi-bin"]
# ///
# mpirun cannot find the executable that it shall start.
module load openmpi/4.1 2> /dev/null || echo "no environment modules here, using the system's openmpi"
mpirun --allow-run-as-root --oversubscribe -np 2 horovod_train --epochs 3 --lr 0.1
