# /// case
# cause = "segfault"
# exit_code = 139
# ///
# A decision tree is grown recursively in C++ without a bound on the depth: the stack overflows.
cat > forest.cc <<'C'
#include <cstdio>
#include <numeric>
#include <vector>

struct Node { int feature; double split; };
static std::vector<Node> nodes;

static int grow(const std::vector<double> &x, double lo, double hi, int depth)
{
    volatile char frame[4096];
    frame[depth % 4096] = 1;
    double mid = std::accumulate(x.begin(), x.end(), 0.0) / x.size();
    nodes.push_back({depth % 8, mid});
    if (hi - lo < 0) return depth;
    return grow(x, lo, hi + 1, depth + 1) + frame[0];
}

int main()
{
    for (int tree = 0; tree < 10; tree++) {
        std::vector<double> x(16 + tree, tree * 0.25);
        std::printf("[forest] tree %d: %zu samples, building...\n", tree, x.size());
        std::fflush(stdout);
        int depth = grow(x, 0, tree < 4 ? -1 : 1, 0);
        std::printf("[forest] tree %d: depth %d, oob error %.4f\n", tree, depth, 0.3 / (tree + 1));
    }
}
C
g++ -O0 -o forest forest.cc || exit 90
ulimit -s 4096
exec bash -c './forest; code=$?; echo "forest: exit status $code"; exit $code'
