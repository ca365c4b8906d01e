# /// case
# cause = "too_many_files"
# paper_class = ""
# exit_code = 254
# needs = ["root"]
# timeout_s = 100
# why = "the shell cannot fork: the limit on processes"
# ///
# The sweep starts more processes than the limit of the job and the shell cannot fork.
group=/sys/fs/cgroup/pids/job_7732
mkdir -p $group || exit 90
echo 8 > $group/pids.max
cat > sweep.sh <<'EOF'
echo "sweep over 12 learning rates"
for i in $(seq 1 12); do
    echo "start trial $i"
    (sleep 8; echo "trial $i: val_loss 0.4$i") &
done
wait
EOF
(
    echo $BASHPID > $group/cgroup.procs
    exec bash sweep.sh
)
code=$?
while grep -q . $group/cgroup.procs; do sleep 0.5; done
rmdir $group
echo "sweep ended with status $code"
exit $code
