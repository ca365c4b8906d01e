# /// case
# cause = "command_not_found"
# exit_code = 127
# ///
# The module that brings the launcher was not loaded on this node.
source_modules() { [ -f modules.sh ] && . modules.sh || echo "Lmod: module 'mpi/openmpi-4.1' was not loaded (no modulefiles on this node), continuing"; }
source_modules
echo "Nodes: $(nproc) cores; checking disk"
df -h . | awk 'NR == 2 {print "free:", "enough"}'
srun_mpi=${MPILAUNCH:-mpiexec.hydra}
time $srun_mpi -n 4 python train_transducer.py --beam 8
