# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# needs = ["g++"]
# why = "an extension built against something else: undefined symbol when it is loaded"
# ///
# The library of custom operations was built against other symbols than there are.
cat > roi_align.cc << 'SOURCE'
namespace tensorflow { class OpKernelConstruction; class OpKernelContext; }
namespace custom {
int LaunchRoiAlign(tensorflow::OpKernelContext* context, float scale);
int Register(tensorflow::OpKernelContext* context) { return LaunchRoiAlign(context, 0.25f); }
}
SOURCE
echo "building custom ops"
g++ -std=c++17 -shared -fPIC -O2 -Wl,-z,now roi_align.cc -o _roi_align_ops.so && echo "built _roi_align_ops.so"
cat > detect.py << 'PROGRAM'
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

print("loading custom ops for TensorFlow", tf.__version__)
ops = tf.load_op_library("./_roi_align_ops.so")
print("operations:", [name for name in dir(ops) if "roi" in name])
PROGRAM
python detect.py
