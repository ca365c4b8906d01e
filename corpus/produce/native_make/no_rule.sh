# /// case
# cause = "file_not_found"
# exit_code = 2
# why = "a source file named in the Makefile is not there"
# ///
# A source file that the Makefile needs is missing.
mkdir csrc
echo 'int f() { return 1; }' > csrc/layer_norm.cpp
printf 'all: csrc/layer_norm.o csrc/rotary.o\n%%.o: %%.cpp\n\tg++ -c $< -o $@\n' > Makefile
make all || exit $?
