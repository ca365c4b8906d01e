# /// case
# cause = "config"
# paper_class = ""
# exit_code = 1
# needs = ["root", "openmpi-bin"]
# why = "wrong launcher options: more ranks than the host file offers"
# ///
# mpirun is asked for more ranks than the host file has slots.
cat > hosts <<'EOT'
localhost slots=2
EOT
echo "hostfile:"
cat hosts
echo "launching 8 ranks"
mpirun --allow-run-as-root --hostfile hosts -np 8 python -c 'from mpi4py import MPI; print(MPI.COMM_WORLD.rank)'
