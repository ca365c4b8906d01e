# /// case
# cause = "permission"
# exit_code = 23
# needs = ["root", "rsync"]
# ///
# The results are copied back to a folder of another user.
mkdir -p results
echo '{"accuracy": 0.81}' > results/metrics.json
DEST=$(mktemp -d /var/tmp/stage.XXXXXX)
SOURCE=$(mktemp -d /var/tmp/source.XXXXXX)
chmod 755 "$DEST" "$SOURCE"
cp results/metrics.json "$SOURCE"
echo "copying results back as $(setpriv --reuid 65534 --clear-groups whoami)"
cd /
setpriv --reuid 65534 --clear-groups rsync -rt "$SOURCE/" "$DEST/" 2>&1 | sed "s#$DEST#/archive/group7#g"
code=${PIPESTATUS[0]}
rm -r "$DEST" "$SOURCE"
exit $code
