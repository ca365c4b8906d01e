# /// case
# cause = "data"
# paper_class = ""
# exit_code = 1
# why = "the copied data do not match their checksums"
# ///
# One of the staged shards does not match its checksum.
set -e
mkdir -p staged
for k in 0 1 2 3; do seq $((k * 100)) $((k * 100 + 99)) > staged/shard-$k.txt; done
(cd staged && sha256sum shard-*.txt > SHA256SUMS)
printf '\0\0\0\0' | dd of=staged/shard-2.txt bs=1 seek=40 conv=notrunc status=none
echo "verifying staged data"
(cd staged && sha256sum --check SHA256SUMS)
echo "verified, starting training"
