# /// case
# cause = "runtime_error"
# exit_code = 3
# why = "the status stands alone; no line is about the end"
# ///
# awk prints the rows that it has read, and ends with 3.

cd "$HOME" || exit 3
seq 1 24 | awk '{ printf "read %d rows\n", $1 * 1000 } $1 == 9 { exit 3 }'
