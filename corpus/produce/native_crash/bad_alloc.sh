# /// case
# cause = "host_oom"
# exit_code = 134
# needs = ["g++"]
# why = "abort after std::bad_alloc, said by the runtime of C++; the shell adds its own line"
# ///
# A trainer in C++ asks for more memory than the limit allows and ends in std::bad_alloc.
set -u
cat > gbdt.cpp <<'EOF'
#include <cstdio>
#include <vector>
int main() {
    std::vector<std::vector<float>> histograms;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    for (int depth = 1; depth <= 20; ++depth) {
        std::size_t leaves = std::size_t(1) << (depth + 4);
        histograms.emplace_back(leaves * 255 * 8, 0.0f);
        std::printf("[depth %2d] leaves=%zu train-logloss:%.5f\n", depth, leaves, 0.69 / depth);
    }
}
EOF
g++ -O1 -o gbdt gbdt.cpp
ulimit -v 400000
ulimit -c 0
./gbdt
status=$?
echo "gbdt exited with status $status"
exit $status
