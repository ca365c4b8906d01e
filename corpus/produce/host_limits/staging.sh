# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# why = "the user of the job may not write to the shared folder; said by cp and mkdir"
# ///
# Staging the data in as the user of the job is refused by the shared folder.
set -e
chmod 711 .. .
mkdir -p shared/cache work
echo "1,2,3" > shared/train.csv
chmod 755 shared shared/cache
chmod 777 work
cat > stage.sh <<'EOF'
set -e
echo "[stage] user id $(id -u), umask $(umask)"
cp shared/train.csv work/train.csv
echo "[stage] copied train.csv ($(wc -c < work/train.csv) bytes)"
mkdir shared/cache/tokenized
cp work/train.csv shared/cache/tokenized/
echo "[stage] done"
EOF
setpriv --reuid=65534 --regid=65534 --clear-groups bash stage.sh
echo "[train] starting"
python -c "print(open('shared/cache/tokenized/train.csv').read())"
