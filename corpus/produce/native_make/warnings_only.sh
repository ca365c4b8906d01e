# /// case
# cause = "none"
# exit_code = 0
# why = "compiler warnings and a configure test that failed as expected; the build and the run are fine"
# ///
# A build with failed feature tests and warnings ends well, and the program runs.
cat > CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(loader LANGUAGES CXX)
include(CheckIncludeFileCXX)
check_include_file_cxx(cuda_runtime_api_v99.h HAVE_CUDA)
check_include_file_cxx(immintrin.h HAVE_IMMINTRIN)
find_package(LibArchiveOfProject QUIET)
if(NOT HAVE_CUDA)
  message(WARNING "CUDA not found: building the loader for the CPU only, GPU decoding will fail to initialize")
endif()
add_executable(loader loader.cpp)
target_compile_options(loader PRIVATE -Wall)
EOF
cat > loader.cpp <<'EOF'
#include <cstdio>
int main(int argc, char** argv) {
  int unused_error_count;
  char magic = 300;
  std::printf("loader ready, %d errors (magic %d)\n", 0, magic);
}
EOF
set -e
cmake -S . -B build > configure.log 2>&1 || { cat configure.log; exit 1; }
cat configure.log
cmake --build build
./build/loader
