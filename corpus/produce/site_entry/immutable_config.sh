# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root", "e2fsprogs"]
# why = "the file is protected by the administrator: operation not permitted"
# ///
# The configuration on the shared disk was made immutable, and the job wants to put its settings in.
mkdir -p shared && printf 'lr: 0.1\nepochs: 3\n' > shared/base.yaml
chattr +i shared/base.yaml || exit 90
echo "[$(date +%T)] writing resolved config"
sed -i 's/lr: 0.1/lr: 0.01/' shared/base.yaml
code=$?
chattr -i shared/base.yaml
if [ $code -ne 0 ]; then
    echo "[$(date +%T)] could not update shared/base.yaml (sed: $code)" >&2
    exit 1
fi
echo "training with" && cat shared/base.yaml
