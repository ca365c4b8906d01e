# /// case
# cause = "compile_error"
# paper_class = ""
# exit_code = 2
# why = "the native extension is compiled at the start of the job"
# ///
# make compiles a helper before the training and misses a header.
mkdir -p csrc
cat > csrc/helpers.cpp <<'EOF'
#include <pybind11_of_project/pybind11.h>
#include <vector>

int build_sample_idx(const std::vector<int>& sizes) { return sizes.size(); }
EOF
cat > csrc/Makefile <<'EOF'
CXXFLAGS += -O3 -Wall -shared -std=c++17 -fPIC
LIBNAME = helpers_cpp
default: $(LIBNAME).so
%.so: helpers.cpp
	g++ $(CXXFLAGS) $< -o $@
EOF
set -e
echo "> compiling dataset index builder ..."
make -C csrc
python -c 'import helpers_cpp; print("training")'
