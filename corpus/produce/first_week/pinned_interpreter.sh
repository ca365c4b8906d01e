# /// case
# cause = "command_not_found"
# exit_code = 127
# ///
# The wiki page of the team starts the trainer with an interpreter version that this machine has not.
export EXPERIMENT=baseline-$(date +%Y%m%d)
LOGLEVEL=${LOGLEVEL:-INFO}
cat > train_baseline.py <<'PY'
import sys

print("python", sys.version)
PY
ulimit -c 0
nproc_here=2
echo "experiment : $EXPERIMENT"
echo "log level  : $LOGLEVEL"
echo "cpus       : $nproc_here"
[ -f "$HOME/.netrc" ] || echo "WARNING: no ~/.netrc, tracking will be anonymous"
exec python3.8 -u train_baseline.py --name "$EXPERIMENT" --log-level "$LOGLEVEL"
