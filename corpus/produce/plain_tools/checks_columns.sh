# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the last command, grep -q, found nothing, and says nothing; only the status is left"
# ///
# The last command of the script says nothing, and its status is 1.

cd "$HOME" || exit 3
seq 1 30 | awk '{ print "row", $1, "of 30" }' | tail -n 4
grep -q converged <<< "iteration 30 gap 0.02"
