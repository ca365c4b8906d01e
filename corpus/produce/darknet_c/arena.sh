# /// case
# cause = "host_oom"
# exit_code = 134
# why = "the C++ program dies of an exception whose text says bad_alloc"
# ///
# A C++ trainer reserves its arena under a limit of address space.
cat > arena.cc <<'C'
#include <cstdio>
#include <memory>
#include <vector>

int main()
{
    std::vector<std::unique_ptr<float[]>> arena;
    for (int level = 1; level <= 12; level++) {
        size_t floats = size_t(1) << (18 + level);
        arena.emplace_back(new float[floats]);
        std::printf("level %2d: reserved %zu MiB, residual %.3e\n", level, floats * 4 >> 20, 1.0 / (1 << level));
        std::fflush(stdout);
    }
    std::puts("arena ready");
}
C
g++ -O1 -o arena arena.cc || exit 90
ulimit -v 1500000
./arena
