# /// case
# cause = "data"
# exit_code = 134
# needs = ["g++"]
# why = "the uncaught C++ exception says that line 5 of the file cannot be parsed; paper: no Python exception"
# paper_class = ""
# ///
# A reader in C++ throws at a malformed line of its input and the process aborts.
cat > fm.cpp <<'EOF'
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
static double parse(const std::string &line, int number) {
    std::istringstream in(line);
    double label;
    std::string feature;
    if (!(in >> label)) throw std::runtime_error("train.libsvm:" + std::to_string(number) + ": cannot parse label in \"" + line + "\"");
    while (in >> feature)
        if (feature.find(':') == std::string::npos) throw std::runtime_error("train.libsvm:" + std::to_string(number) + ": expected index:value, got \"" + feature + "\"");
    return label;
}
int main() {
    std::ifstream file("train.libsvm");
    std::string line;
    int n = 0;
    double sum = 0;
    std::cerr << "reading train.libsvm ..." << std::endl;
    while (std::getline(file, line)) sum += parse(line, ++n);
    std::cerr << n << " rows, mean label " << sum / n << std::endl;
}
EOF
g++ -O0 -o fm fm.cpp && printf '1 3:0.5 7:1\n0 2:1\n1 1:0.1\n0 9:2\n1 4=0.25 5:1\n' > train.libsvm
ulimit -c 0
./fm
