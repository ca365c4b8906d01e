# /// case
# cause = "file_not_found"
# exit_code = 2
# why = "the program named in the job script is not in the job's folder"
# needs = ["root", "slurm-wlm", "munge"]
# ///
# The job script names a program that is not there; srun reports the exit code.
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

cat > train.sbatch <<'EOF'
#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --output=slurm-%j.out
#SBATCH --ntasks=1 --mem=500
echo "Job $SLURM_JOB_ID on $SLURMD_NODENAME, partition $SLURM_JOB_PARTITION, started $(date +%FT%T)"
srun python src/train_ddp.py --config base.yaml
EOF
sbatch -Q --wait train.sbatch > id
code=$?
cat slurm-*.out
exit $code
