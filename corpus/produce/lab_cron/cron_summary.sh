# /// case
# cause = "none"
# exit_code = 0
# ///
# A job whose first query fails and whose log is short.

cd "$HOME" || exit 3
python -c 'import sqlite3; print(sqlite3.connect("runs.db").execute("select count(*) from runs").fetchone())' || echo "no runs yet, creating the table"
python -c 'import sqlite3; c = sqlite3.connect("runs.db"); c.execute("create table runs (id integer, acc real)"); c.executemany("insert into runs values (?, ?)", [(i, i / 9) for i in range(5)]); c.commit(); print(c.execute("select count(*), round(avg(acc), 3) from runs").fetchone())'
