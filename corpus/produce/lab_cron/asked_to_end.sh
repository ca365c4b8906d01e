# /// case
# cause = "cancelled"
# exit_code = -15
# stop = {signal = "TERM", when = "waiting"}
# why = "SIGTERM with nothing else known"
# ///
# SIGTERM from outside, while the program waits for the next file.

cd "$HOME" || exit 3
echo "waiting for the next file"
exec sleep 60
