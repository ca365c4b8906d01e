# /// case
# cause = "compile_error"
# paper_class = ""
# exit_code = 1
# ///
# The linker misses the definition of a function.
cat > main.cpp <<'EOF'
#include <cstdio>
extern "C" int tokenize_utf8(const char* text, int length);
int main() { std::printf("%d tokens\n", tokenize_utf8("abc", 3)); }
EOF
echo "building the tokenizer binary"
g++ -O2 -Wall main.cpp -o tokenizer -lm
code=$?
if [ $code -ne 0 ]; then echo "build failed"; exit $code; fi
./tokenizer
