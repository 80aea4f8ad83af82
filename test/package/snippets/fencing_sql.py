#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Runs the SQL of docs/users/guarantees.md on SQLite: a write with a smaller fencing token changes nothing.

    fencing_sql.py SOURCE
"""
import pathlib
import re
import sqlite3
import sys

page = pathlib.Path(sys.argv[1]) / "docs/users/guarantees.md"
row, guard = re.findall(r"^```sql\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)

database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, token INTEGER)")
database.execute("INSERT INTO account VALUES (1, 100, 0)")
database.execute("CREATE TABLE fence (key TEXT PRIMARY KEY, token INTEGER NOT NULL)")


def changed(statement, token):
    return database.execute(statement.rstrip().rstrip(";"), {"amount": 10, "id": 1, "key": "jobs", "token": token}).rowcount


# the first holder, the next one, the first one that is late, and the next one again
for statement in (row, guard):
    assert [changed(statement, token) for token in (7, 8, 7, 8)] == [1, 1, 0, 1], statement
assert database.execute("SELECT balance, token FROM account").fetchall() == [(70, 8)]
assert database.execute("SELECT key, token FROM fence").fetchall() == [("jobs", 8)]
print("2 statements reject a late writer")
