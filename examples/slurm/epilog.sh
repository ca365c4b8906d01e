#!/bin/sh
# Record each job that ends, and send an alert about a failure.
#
# slurm.conf:  EpilogSlurmctld=/etc/slurm/gpualert-epilog.sh
#        or:   Epilog=/etc/slurm/gpualert-epilog.sh
#
# EpilogSlurmctld runs this on the machine of slurmctld, as SlurmUser.  Epilog runs it on each node
# of the job, as root: the first one then watches the job.  Slurm waits for this script, so it only
# starts a watch in the background, which reads the state and the output of the job and then ends.
# The outputs must be readable for that user there.  Slurm sets neither PATH nor HOME.
# Channels are in /etc/slurm/gpualert/gpualert/config.toml.

PATH="${GPUALERT_BIN:-/opt/gpualert/bin}:/usr/local/bin:/usr/bin:/bin"
XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-/etc/slurm/gpualert}"
GPUALERT_STATE_DIR="${GPUALERT_STATE_DIR:-/var/spool/slurm/gpualert}"
export PATH XDG_CONFIG_HOME GPUALERT_STATE_DIR

case "$SLURM_JOB_COMMENT" in
*gpualert:*) exit 0 ;; # "gpualert sbatch" follows it already
esac

if [ "$SLURM_SCRIPT_CONTEXT" = epilog_slurmd ]; then
  first=$(scontrol show hostnames "$SLURM_NODELIST" | head -n 1)
  [ "$SLURMD_NODENAME" = "$first" ] || exit 0
fi

gpualert watch --detach --poll 5s --run-name "${SLURM_JOB_NAME:-job}-$SLURM_JOB_ID" \
  "slurm:$SLURM_JOB_ID" >/dev/null 2>&1
exit 0
