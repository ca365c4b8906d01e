# /// case
# cause = "dependency"
# paper_class = ""
# exit_code = 1
# why = "cmake finds no package of the version that is asked for: a C library is missing"
# ///
# cmake cannot find the BLAS library that the kernels are built against.
cat > CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(kernels LANGUAGES CXX)
find_package(Threads REQUIRED)
find_package(OpenVDB 10.0 CONFIG REQUIRED)
add_library(kernels SHARED kernels.cpp)
EOF
echo 'int f() { return 1; }' > kernels.cpp
set -e
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build -j2
