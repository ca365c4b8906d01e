# /// case
# cause = "config"
# paper_class = ""
# exit_code = 1
# needs = ["root", "openmpi-bin"]
# why = "the launcher refuses to run as root unless told otherwise: an option is missing"
# ///
# mpirun refuses to start as root in a container.
set -e
echo "[entrypoint] $(date -u +%FT%TZ) starting training as $(whoami)"
mpirun -np 2 -x OMP_NUM_THREADS python -m mpi4py.bench helloworld
echo "[entrypoint] done"
