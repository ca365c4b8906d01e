# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root", "gcc"]
# why = "the compiler fails only because its temporary disk is full"
# ///
# The compiler fails because the disk for its temporary files is full.
mkdir -p tmp
mount -t tmpfs -o size=64k tmpfs tmp || exit 90
export TMPDIR=$PWD/tmp
cat > model.py <<'EOF'
import subprocess
import sys

print("generating kernels", flush=True)
with open("kernels.c", "w") as file:
    for i in range(3000):
        file.write(f"float k{i}(float x) {{ return x * {i}.5f + {i % 7}.25f; }}\n")
try:
    subprocess.run(["gcc", "-O0", "-c", "kernels.c", "-o", "kernels.o"], check=True)
except subprocess.CalledProcessError as error:
    raise RuntimeError("Error building extension 'kernels'") from error
print("kernels ready, training", file=sys.stderr)
EOF
python model.py
