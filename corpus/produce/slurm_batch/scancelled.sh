# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = -15
# why = "scancel with no qualifier"
# needs = ["root", "slurm-wlm", "munge"]
# ///
# scancel ends a running job: the log has Slurm's line and nothing more.
# A cluster of one node, started for this job alone.
lab=$PWD/../lab
mkdir -p "$lab"/{state,spool,munge}
cat > "$lab/slurm.conf" <<EOF
ClusterName=lab
SlurmctldHost=localhost
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$lab/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdTimeout=8
KillWait=2
OverTimeLimit=0
ReturnToService=2
MpiDefault=none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool
SlurmctldPidFile=$lab/ctld.pid
SlurmdPidFile=$lab/slurmd.pid
NodeName=gpu-03 NodeHostname=localhost NodeAddr=localhost CPUs=2 RealMemory=4000
PartitionName=main Nodes=gpu-03 Default=YES MaxTime=60 PreemptMode=CANCEL
PartitionName=urgent Nodes=gpu-03 PriorityTier=10 PreemptMode=off
EOF
head -c 64 /dev/urandom > "$lab/munge/key"
chmod 400 "$lab/munge/key"
munged -F --force --key-file "$lab/munge/key" --socket "$lab/munge/socket" --num-threads 2 \
    --pid-file "$lab/munge/pid" --log-file "$lab/munge/log" --seed-file "$lab/munge/seed" &> /dev/null &
sleep 0.5
export SLURM_CONF=$lab/slurm.conf
slurmctld -D &> "$lab/slurmctld.log" &
slurmd -D -N gpu-03 &> "$lab/slurmd.log" & slurmd=$!
for _ in {1..40}; do sinfo -h 2> /dev/null | grep -q idle && break; sleep 0.25; done

cat > train.py <<'EOF'
import sys, time
total = int(sys.argv[1])
for step in range(total):
    time.sleep(0.1)
    if step % 10 == 0:
        print(f"step {step:5d}/{total} loss {5 / (1 + step / 40):.4f}", flush=True)
print("training finished", flush=True)
EOF
cat > train.sbatch <<'EOF'
#!/bin/bash
#SBATCH --job-name=lm-small
#SBATCH --output=slurm-%j.out
#SBATCH --ntasks=1 --mem=500
echo "Job $SLURM_JOB_ID on $SLURMD_NODENAME, partition $SLURM_JOB_PARTITION, started $(date +%FT%T)"
srun python train.py 3000
EOF
sbatch -Q train.sbatch > id
for _ in {1..100}; do grep -q "step    20" slurm-*.out 2> /dev/null && break; sleep 0.2; done
scancel 1
for _ in {1..60}; do squeue -h -o %T | grep -q . || break; sleep 0.5; done
cat slurm-*.out
kill -TERM $$
