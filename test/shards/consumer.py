#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""examples/shard_consumer.cpp: processes are killed and stopped while they consume, on one database.

  consumer.py PROGRAM [SECONDS]

Each shard must have the results of all positions below its offset, each once, with fencing tokens that never decrease."""
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time


def main():
    program = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 15
    draw = random.Random(7)
    folder = tempfile.mkdtemp(prefix="shards-")
    database = f"{folder}/results"

    def start():
        return subprocess.Popen([program, f"file://{folder}/store", database, "1000"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    workers = [start() for _ in range(4)]
    late = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(draw.uniform(0.5, 2))
        at = draw.randrange(len(workers))
        if draw.random() < 0.5:
            workers[at].kill()
            late += workers[at].communicate()[0].count("too late")
            workers[at] = start()
        else:
            workers[at].send_signal(signal.SIGSTOP)
            time.sleep(draw.uniform(0.5, 2.5))
            workers[at].send_signal(signal.SIGCONT)
    time.sleep(2)
    wrong = []
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    for worker in workers:
        output = worker.communicate(timeout=20)[0]
        late += output.count("too late")
        # one that was just started does not know the signal yet
        if worker.returncode != 0 and not (worker.returncode == -signal.SIGTERM and output == ""):
            wrong.append(f"exit code {worker.returncode} after: {output[-200:]}")
    connection = sqlite3.connect(database)
    offsets = dict(connection.execute("SELECT shard, position FROM progress"))
    for shard, offset in offsets.items():
        rows = connection.execute("SELECT position, fence FROM result WHERE shard = ? ORDER BY rowid", (shard,)).fetchall()
        if [row[0] for row in rows] != list(range(offset)):
            wrong.append(f"shard {shard}: {len(rows)} results up to {offset}")
        if any(later[1] < earlier[1] for earlier, later in zip(rows, rows[1:])):
            wrong.append(f"shard {shard}: a former owner has written")
    if len(offsets) != 16 or min(offsets.values()) == 0:
        wrong.append(f"not every shard was consumed: {offsets}")
    for line in wrong:
        print(line)
    print(f"{sum(offsets.values())} results, {late} late writes rejected, {len(wrong)} violations")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
