# /// case
# cause = "file_not_found"
# exit_code = 2
# ///
# Counts lines of a log that was never written.

cd "$HOME" || exit 3
for run in baseline dropout; do
    echo "$run"
    grep -c "loss" "/data/runs/$run/metrics.csv" || exit
done
