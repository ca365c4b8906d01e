# /// case
# cause = "none"
# exit_code = 0
# ///
# git complains outside a repository, cp about a folder; the counts are written all the same.

cd "$HOME" || exit 3
git describe --always || echo "version unknown"
mkdir -p a/b && touch a/x
cp a copy_of_a || rm -v a/x
yes "up down left" | head -n 400 | tr ' ' '\n' | sort | uniq -c > counts.txt
cat counts.txt
