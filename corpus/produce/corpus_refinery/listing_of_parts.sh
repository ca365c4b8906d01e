# /// case
# cause = "file_not_found"
# exit_code = 2
# command = "bash {program}"
# why = "the first stage names a folder that is not there; the shell leaves at once"
# ///
# The stages of a preparation; the folder of the second language has another name.
set -eu
mkdir -p raw/en raw/de
for i in 1 2 3; do seq $i 40 > raw/en/part-$i.txt; seq $i 30 > raw/de/part-$i.txt; done
for lang in en ger; do
  echo "== $lang: $(date +%H:%M:%S)"
  ls -1 raw/$lang > parts-$lang.lst
  echo "$(wc -l < parts-$lang.lst) parts"
  cat raw/$lang/*.txt | sort -n | uniq -c | sort -rn | head -3
done
python -c "print('vocabulary built')"
