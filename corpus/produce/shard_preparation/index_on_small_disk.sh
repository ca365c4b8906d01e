# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The index of the duplicates is kept in a database on a scratch disk that fills up.
mkdir scratch
mount -t tmpfs -o size=1m tmpfs scratch || exit 90
cat > dedup.py <<'PY'
import hashlib
import random
import sqlite3
import time

random.seed(0)
start = time.perf_counter()
db = sqlite3.connect("scratch/seen.db")
db.execute("pragma journal_mode=wal").close()
db.execute("create table seen (digest blob primary key, document integer) without rowid")
words = "loss batch epoch token error full disk cat dog tree".split()
kept = 0
for document in range(60_000):
    text = " ".join(random.choices(words, k=6))
    digest = hashlib.sha256(f"{text}{document // 3 * 2}".encode()).digest()
    cursor = db.execute("insert or ignore into seen values (?, ?)", (digest, document))
    kept += cursor.rowcount
    if document % 2000 == 1999:
        db.commit()
        print(f"{document + 1:6d} documents, {kept} kept, {document + 1 - kept} duplicates", flush=True)
print(f"done in {time.perf_counter() - start:.1f} s")
PY
df -h scratch | awk 'NR==2 {print "scratch: " $2 " in all, " $5 " used"}'
python dedup.py
