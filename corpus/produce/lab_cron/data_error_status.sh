# /// case
# cause = "runtime_error"
# exit_code = 65
# why = "the status stands alone; no line is about the end"
# ///
# Shards are written, then another status of sysexits.h.

cd "$HOME" || exit 3
for shard in 00 01 02 03; do
    head -c 4096 /dev/zero > shard-$shard.bin
    echo "wrote shard-$shard.bin ($(wc -c < shard-$shard.bin) bytes)"
done
exit 65
