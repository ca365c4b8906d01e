# /// case
# cause = "runtime_error"
# exit_code = 100
# why = "the status stands alone; no line is about the end"
# ///
# The beginning of a job and the status 100.

cd "$HOME" || exit 3
echo "job start: $(uname -s), $(nproc > /dev/null && echo cpus ok)"
echo "loading weights ... ok"
echo "building index ..."
(exit 100)
