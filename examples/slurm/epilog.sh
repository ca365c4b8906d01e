#!/bin/sh
# Record each job that ends, and send an alert about a failure.
#
# slurm.conf:  EpilogSlurmctld=/etc/slurm/gpualert-epilog.sh
#
# Slurm runs this on the machine of slurmctld, as SlurmUser, and waits for it.  So it only starts a
# watch in the background, which reads the state and the output of the job and then ends.  The
# outputs must be readable for SlurmUser.  Channels are in /etc/slurm/gpualert/gpualert/config.toml.

export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-/etc/slurm/gpualert}"
export GPUALERT_STATE_DIR="${GPUALERT_STATE_DIR:-/var/spool/slurm/gpualert}"

case "$SLURM_JOB_COMMENT" in
*gpualert:*) exit 0 ;; # "gpualert sbatch" follows it already
esac

gpualert watch --detach --poll 5s --run-name "${SLURM_JOB_NAME:-job}-$SLURM_JOB_ID" \
  "slurm:$SLURM_JOB_ID" >/dev/null 2>&1
exit 0
