# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "the build driver wraps the compiler's error in CalledProcessError"
# ///
# A python build driver wraps the compiler's complaint in CalledProcessError.
cat > build.py <<'EOF'
import subprocess, sys
FLAGS = ["-O3", "-fPIC", "-shared", "-march=native", "-Wall", "-Werror"]
SOURCE = """
#include <cstdint>
int32_t argmax(const float* x, int n) {
  int32_t best, unused = 0;
  for (int i = 1; i < n; ++i) if (x[i] > x[best]) best = i;
  return best;
}
"""
open("argmax.cpp", "w").write(SOURCE)
print("[build]", "g++", *FLAGS, "argmax.cpp", flush=True)
subprocess.run(["g++", *FLAGS, "argmax.cpp", "-o", "argmax.so"], check=True)
EOF
python build.py && python train.py
