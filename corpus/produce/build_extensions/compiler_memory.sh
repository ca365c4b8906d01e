# /// case
# cause = "host_oom"
# exit_code = 1
# needs = ["g++"]
# why = "the compiler fails only because it may not have more memory"
# ///
# The compiler itself runs out of the memory that the shell allows.
ulimit -v 160000
cat > build.py <<'EOF'
import subprocess

SOURCE = "#include <regex>\n#include <functional>\n#include <iostream>\n" + "\n".join(
    f"std::regex r{i}(\"a{i}\"); std::function<int(int)> f{i} = [](int x) {{ return x + {i}; }};" for i in range(2000)
)
with open("ops.cpp", "w") as file:
    file.write(SOURCE)
print("[1/2] g++ -O2 -std=c++17 -fPIC -c ops.cpp -o ops.o", flush=True)
result = subprocess.run(["g++", "-O2", "-std=c++17", "-fPIC", "-c", "ops.cpp", "-o", "ops.o"], capture_output=True, text=True)
if result.returncode:
    raise RuntimeError(f"Error building extension 'ops': {result.stderr[-1500:]}")
print("[2/2] g++ ops.o -shared -o ops.so")
EOF
python build.py
