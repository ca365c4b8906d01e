# /// case
# cause = "compile_error"
# paper_class = ""
# exit_code = 2
# ///
# Parallel make fails in one of three files; the others go on for a while.
mkdir -p src && cd src
for k in 1 2 3; do printf '#include <vector>\ndouble f%d(const std::vector<double>& x) { return x.size() * %d; }\n' $k $k > op$k.cpp; done
cat > op2.cpp <<'EOF'
#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<float>> cache;
float lookup(const std::string& key) {
    const auto& rows = cache.at(key);
    return rows.first + undeclared_scale;
}
EOF
printf 'OBJECTS = op1.o op2.o op3.o\nops.so: $(OBJECTS)\n\tg++ -shared $^ -o $@\n%%.o: %%.cpp\n\tg++ -fPIC -O2 -c $< -o $@\n' > Makefile
make -j2 || { code=$?; echo "build of the custom operators failed (exit $code), see above"; exit $code; }
