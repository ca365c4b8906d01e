# /// case
# cause = "command_not_found"
# paper_class = ""
# exit_code = 2
# ///
# A Makefile calls a CUDA compiler that is not installed.
cat > scan.cu <<'EOF'
__global__ void scan(float* x) { x[threadIdx.x] += 1; }
EOF
printf 'NVCC ?= nvcc-12.9\nlibscan.so: scan.cu\n\t$(NVCC) -Xcompiler -fPIC -shared -arch=sm_90 $< -o $@\n' > Makefile
echo "selective scan: building CUDA kernels"
make
code=$?
[ $code -eq 0 ] || { echo "make exited with $code, aborting the job"; exit $code; }
python train.py
