#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Many members of one group in one process on a real server: what each one asks of it, at rest and while one joins.

  crowd.py CROWD --store redis|etcd [--shards 4096] [--members 256] [--ttl 10000] [--seconds 20]

Prints the requests that the library counts, where each renewed lease is one, and the commands that the server counts.
Fails if the counts of the members do not become exact, or if more shards move than a join may."""
import argparse
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from fleet import start_server


def commands(store, url):
    """How many commands the server has got."""
    host, port = url.split("//")[1].split(":")
    if store == "redis":
        with socket.create_connection((host, int(port)), 5) as link:
            link.sendall(b"INFO stats\r\n")
            text = link.recv(65536).decode()
        return int(re.search(r"total_commands_processed:(\d+)", text).group(1))
    text = urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=5).read().decode()
    return sum(int(float(line.split()[-1])) for line in text.splitlines() if line.startswith("grpc_server_started_total{"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("crowd")
    parser.add_argument("--store", choices=["redis", "etcd"], required=True)
    parser.add_argument("--shards", type=int, default=4096)
    parser.add_argument("--members", type=int, default=256)
    parser.add_argument("--ttl", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=20)
    settings = parser.parse_args()
    # each member has its own connections
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder = tempfile.mkdtemp(prefix="crowd-")
    server, url = start_server(settings.store, folder)
    moved, samples = None, []
    print(f"{settings.store}: {settings.shards} shards, {settings.members} members, ttl {settings.ttl} ms")
    command = [settings.crowd, url, str(settings.shards), str(settings.members), str(settings.ttl), str(settings.seconds)]
    try:
        crowd = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in crowd.stdout:
            print(line, end="", flush=True)
            if line.startswith("moved "):
                moved = int(line.split()[1])
            elif line.startswith("cold start"):
                # the program rests for a ttl first
                time.sleep(settings.ttl / 1000)
                samples.append((time.monotonic(), commands(settings.store, url)))
            elif line.startswith(("rest", "join,")):
                samples.append((time.monotonic(), commands(settings.store, url)))
        code = crowd.wait()
    finally:
        if crowd.poll() is None:
            crowd.kill()
            crowd.wait()
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    for phase, (begin, before), (end, after) in zip(["rest", "join"], samples, samples[1:]):
        rate = (after - before) / (end - begin)
        print(f"{phase}: the server got {rate:.0f} commands a second, {rate / settings.members:.2f} of each member")
    most = -(-settings.shards // (settings.members + 1))
    if code != 0 or moved is None or moved > most:
        print(f"exit code {code}, {moved} shards moved, at most {most} may")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
