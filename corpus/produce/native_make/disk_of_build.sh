# /// case
# cause = "disk_full"
# paper_class = ""
# exit_code = 2
# needs = ["root"]
# ///
# The compiler's output goes to a volume that is full.
mkdir build
mount -t tmpfs -o size=100k tmpfs build
trap 'umount -l build' EXIT
head -c 90000 /dev/zero > build/old_objects.a
printf '#include <iostream>\n#include <map>\nint main() { std::map<int, int> m; std::cout << m.size(); }\n' > main.cpp
printf 'build/main.o: main.cpp\n\tg++ -g3 -O2 -c $< -o $@\n' > Makefile
echo "building into $(df -h build | tail -1 | awk '{print $1, $2, $5}')"
make
exit $?
