# /// case
# cause = "host_oom"
# exit_code = 2
# why = "the compiler says that it cannot allocate memory under the job's address limit"
# ///
# The compiler runs out of memory under the job's limit of address space.
cat > big.cpp <<'EOF'
#include <map>
#include <regex>
#include <string>
template <int N> struct Table { static std::map<std::string, std::regex> get() { auto t = Table<N - 1>::get(); t["k"] = std::regex("a*"); return t; } };
template <> struct Table<0> { static std::map<std::string, std::regex> get() { return {}; } };
int main() { return Table<400>::get().size(); }
EOF
printf 'big: big.cpp\n\tg++ -O1 $< -o $@\n' > Makefile
ulimit -v 180000
echo "address space limited to 180 MB for the build step"
make big
exit $?
