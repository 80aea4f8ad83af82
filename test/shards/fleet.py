#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Processes that share shards on a real server, while one after another is killed, stopped, started or ended.

  fleet.py WORKER --store redis|etcd [--seconds 300] [--seed 1] [--processes 12] [--shards 64]

Judges: no shard has two owners; after each event that leaves enough time every shard is owned, each count is exact, and
few shards have moved. Exits with 4 if the server is not installed."""
import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TTL, DRAIN = 2.0, 1.0
REFRESH = TTL / 5
# a process that stands still for longer may lose its lease
LONGEST_STALL = 0.7
# how much later than its ttl a store may free the key of a dead holder
EXPIRES_LATE = {"redis": 0.1, "etcd": 1.5}
# the stated times, after an event of this kind
SETTLES = {
    "join": max(2 * REFRESH, REFRESH + DRAIN) + 1,
    "leave": REFRESH + DRAIN + 1,
    "kill": TTL + REFRESH + 1,
    "stop": TTL + REFRESH + 1,
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_server(store, folder):
    port = free_port()
    if store == "redis":
        program = shutil.which("redis-server")
        command = [program, "--port", str(port), "--save", "", "--dir", folder]
        url = f"redis://127.0.0.1:{port}"
    else:
        program = shutil.which("etcd")
        peer = free_port()
        command = [program, "--data-dir", f"{folder}/data", "--unsafe-no-fsync"]
        command += ["--listen-client-urls", f"http://127.0.0.1:{port}", "--advertise-client-urls", f"http://127.0.0.1:{port}"]
        command += ["--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"]
        command += ["--initial-cluster", f"default=http://127.0.0.1:{peer}"]
        url = f"etcd://127.0.0.1:{port}"
    if program is None:
        print(f"{store}: the server is not installed")
        sys.exit(4)
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server, url
        except OSError:
            time.sleep(0.05)
    server.kill()
    sys.exit(f"{store}: the server does not start")


class Worker:
    def __init__(self, number, command, folder):
        self.log = f"{folder}/worker-{number}.log"
        with open(self.log, "w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self.ended = None
        self.leaves = False
        self.stops = []

    def runs(self):
        return self.process.poll() is None and not self.leaves

    def lines(self):
        with open(self.log) as log:
            return [line.split() for line in log if line.endswith("\n") and line[:2] in ("B ", "V ", "E ", "C ")]

    def count(self):
        counts = [line for line in self.lines() if line[0] == "C"]
        return (int(counts[-1][2]), int(counts[-1][3])) if counts else (0, 0)


def intervals(workers):
    """[shard, begin, end, worker] of each time for which a worker could rely on a shard, in seconds."""
    result = []
    for number, worker in enumerate(workers):
        running = {}
        for line in worker.lines():
            shard = int(line[1])
            if line[0] == "B":
                running[shard] = [shard, int(line[2]) / 1e9, int(line[4]) / 1e9, number]
            elif line[0] == "V" and shard in running:
                running[shard][2] = int(line[2]) / 1e9
            elif line[0] == "E" and shard in running:
                one = running.pop(shard)
                # a process that was stopped notices the end of the validity later
                one[2] = min(one[2], int(line[2]) / 1e9)
                result.append(one)
        for one in running.values():
            if worker.ended is not None:
                one[2] = min(one[2], worker.ended)
            result.append(one)
    return sorted(result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--store", choices=["redis", "etcd"], required=True)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--windows", type=int, default=15, help="at least so many quiet windows are judged")
    settings = parser.parse_args()
    draw = random.Random(settings.seed)
    wrong, workers, windows, moves = [], [], [], []
    folder = tempfile.mkdtemp(prefix="shards-")
    server, url = start_server(settings.store, folder)

    def join():
        command = [settings.worker, url, "orders", str(settings.shards), str(int(TTL * 1000)), str(int(DRAIN * 1000))]
        workers.append(Worker(len(workers), command, folder))

    def present():
        return [worker for worker in workers if worker.runs()]

    def longest_stall(some, since):
        """For how long a process that nobody stopped stood still: it writes its counts each 100 ms."""
        longest = 0.0
        for worker in some:
            times = [int(line[1]) / 1e9 for line in worker.lines() if line[0] == "C" and int(line[1]) / 1e9 >= since]
            longest = max([longest] + [later - earlier for earlier, later in zip(times, times[1:])
                                       if not any(begin < later and earlier < end for begin, end in worker.stops)])
        return longest

    def stalled(since):
        return longest_stall(present(), since) > LONGEST_STALL

    def judge(kind, since, own, quiet_before):
        counts = [worker.count() for worker in present()]
        members = len(counts)
        low, high = settings.shards // members, -(-settings.shards // members)
        exact = sum(count for count, _ in counts) == settings.shards and all(low <= count <= high for count, _ in counts)
        if not exact:
            wrong.append(f"after {kind}: {sorted(counts)} with {members} members")
        if not quiet_before:
            return
        begun = sum(1 for worker in workers for line in worker.lines() if line[0] == "B" and int(line[2]) / 1e9 >= since)
        most = {"join": -(-settings.shards // members), "leave": own, "kill": own}.get(kind)
        if most is not None:
            moves.append((kind, begun, most))
            if begun > most:
                wrong.append(f"{kind}: {begun} shards moved, at most {most} may")

    try:
        for _ in range(settings.processes):
            join()
        begin = time.monotonic()
        while time.monotonic() < begin + 30 and any(worker.count()[1] < settings.processes for worker in workers):
            time.sleep(0.1)
        time.sleep(SETTLES["join"])
        judge("cold start", time.monotonic(), 0, False)
        end = time.monotonic() + settings.seconds
        quiet = True
        events, stalls = 0, 0
        while time.monotonic() < end:
            kind = draw.choice(["kill", "stop", "join", "leave"])
            here = present()
            if len(here) >= settings.processes + 2 and kind == "join":
                kind = "leave"
            if len(here) <= settings.processes - 4 and kind in ("kill", "leave"):
                kind = "join"
            victim = draw.choice(here)
            own = victim.count()[0]
            since = time.monotonic()
            extra = 0.0
            if kind == "join":
                join()
            elif kind == "leave":
                victim.leaves = True
                victim.process.send_signal(signal.SIGTERM)
            elif kind == "kill":
                victim.process.kill()
                victim.process.wait()
                victim.ended = time.monotonic()
            else:
                extra = draw.uniform(0.5, 4)
                victim.process.send_signal(signal.SIGSTOP)
                time.sleep(extra)
                victim.process.send_signal(signal.SIGCONT)
                # it writes again a moment later
                victim.stops.append((since, time.monotonic() + 0.2))
            events += 1
            pause = draw.uniform(1, 20)
            needed = SETTLES[kind] + (SETTLES["join"] if kind == "stop" else 0) + 0.3
            if pause >= needed:
                time.sleep(needed)
                if stalled(since + extra):
                    stalls += 1
                else:
                    judge(kind, since, own, quiet)
                    windows.append(kind)
                time.sleep(pause - needed)
                quiet = True
            else:
                time.sleep(pause)
                quiet = False
    finally:
        for worker in workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()
                worker.ended = time.monotonic()
        server.kill()
        server.wait()
    owners = intervals(workers)
    double, longest = 0, 0.0
    for one, other in zip(owners, owners[1:]):
        if one[0] != other[0]:
            continue
        if other[1] < one[2] and one[3] != other[3]:
            double += 1
            wrong.append(f"shard {one[0]}: worker {one[3]} until {one[2]:.3f}, worker {other[3]} from {other[1]:.3f}")
        longest = max(longest, other[1] - one[2])
    tokens = {}
    for worker in workers:
        for line in worker.lines():
            if line[0] == "B":
                tokens.setdefault(int(line[1]), []).append((int(line[2]), int(line[3])))
    for shard, grants in tokens.items():
        order = [token for _, token in sorted(grants)]
        if any(later <= earlier for earlier, later in zip(order, order[1:])):
            wrong.append(f"shard {shard}: fencing tokens do not increase")
    bound = SETTLES["kill"] + EXPIRES_LATE[settings.store] + longest_stall(workers, begin)
    if longest > bound:
        wrong.append(f"a shard had no owner for {longest:.2f} s, {bound:.2f} s at most are allowed")
    if len(windows) < settings.windows:
        wrong.append(f"only {len(windows)} quiet windows")
    for line in wrong:
        print(line)
    print("moves, at most: " + ", ".join(f"{kind} {begun}/{most}" for kind, begun, most in moves))
    print(f"{settings.store}: {events} events, {len(windows)} quiet windows judged, {stalls} not because the machine stalled, {double} double owners, "
          f"{sum(len(one) for one in tokens.values())} grants, longest time without an owner {longest:.2f} s "
          f"(bound {bound:.2f}), {len(wrong)} violations")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
