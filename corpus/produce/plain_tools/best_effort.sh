# /// case
# cause = "none"
# exit_code = 0
# ///
# Several commands name files that are not there; none of them matters.

cd "$HOME" || exit 3
cat /etc/lab/motd || true
tar -czf old.tgz run_2019 2>&1 || echo "nothing to archive"
grep -h "acc" summary_*.txt || true
seq 1 200 | awk '{ w += 0.01 * ($1 % 7 - w) } $1 % 50 == 0 { printf "%d rows, estimate %.4f\n", $1, w }'
gcc -dumpversion > compiler.txt && ls compiler.txt
