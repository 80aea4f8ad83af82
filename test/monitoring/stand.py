# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Processes that a test of the metrics runs: a Redis server, the program tenure, Prometheus. All end with the test."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

SKIPPED = 4


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need(program):
    """Its path; the test is skipped without it."""
    return shutil.which(program) or skip(f"there is no {program} on this machine")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url, timeout=10):
    """Status and text of a page; status 0: nothing answers."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (OSError, urllib.error.URLError) as error:
        return 0, str(error)


def eventually(what, check, limit=60.0):
    """The first true result of `check`; fails with `what` when the limit is over."""
    end = time.monotonic() + limit
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit:.0f} s: {what}")
        time.sleep(0.05)


class Stand:
    """Everything that runs, in a directory of its own."""

    def __init__(self, tool):
        self.tool = tool
        self.processes = []
        self.directory = Path(tempfile.mkdtemp(prefix="tenure-monitoring-"))
        self.redis_port = free_port()
        self.store = f"redis://127.0.0.1:{self.redis_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, name, *words, **options):
        log = (self.directory / f"{name}.log").open("ab")
        environment = {**os.environ, "TENURE_STORE": self.store}
        process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, **options
        )
        log.close()
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def start_redis(self):
        process = self.start(
            "redis", need("redis-server"), "--port", self.redis_port, "--bind", "127.0.0.1", "--save", "", "--dir",
            self.directory,
        )  # fmt: skip
        eventually("Redis listens", lambda: listens(self.redis_port))
        return process

    def start_tool(self, name, *words):
        return self.start(name, self.tool, *words)

    def start_exporter(self, name, *words):
        """Its address."""
        port = free_port()
        self.start_tool(name, "exporter", "--metrics", f"127.0.0.1:{port}", *words)
        eventually(f"{name} listens", lambda: listens(port))
        return f"127.0.0.1:{port}"

    def start_worker(self, name, *words):
        """A command under `tenure run`. Its process, and the address of its metrics."""
        port = free_port()
        process = self.start_tool(name, "run", "--metrics", f"127.0.0.1:{port}", *words)
        eventually(f"{name} is ready", lambda: get(f"http://127.0.0.1:{port}/ready")[0] == 200)
        return process, f"127.0.0.1:{port}"


def listens(port):
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


class Prometheus:
    """A server that scrapes these targets twice a second."""

    def __init__(self, stand, rules, targets):
        """@param targets  {job: [address]}"""
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        configuration = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(rules)],
            "scrape_configs": [
                # the exporter waits for a store that does not answer
                {"job_name": job, "scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": [{"targets": addresses}]}
                if job == "exporter"
                else {"job_name": job, "static_configs": [{"targets": addresses}]}
                for job, addresses in targets.items()
            ],
        }  # fmt: skip
        # JSON is YAML
        file = stand.directory / "prometheus.yml"
        file.write_text(json.dumps(configuration))
        stand.start(
            "prometheus", need("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={stand.directory / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
        )  # fmt: skip
        eventually("Prometheus is ready", lambda: get(f"{self.url}/-/ready")[0] == 200)

    def api(self, path, **parameters):
        status, text = get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        answer = json.loads(text) if text.startswith("{") else {}
        if status != 200 or answer.get("status") != "success":
            raise AssertionError(f"{path} {parameters}: {status} {text}")
        return answer["data"]

    def query(self, expression):
        return self.api("query", query=expression)["result"]

    def query_range(self, expression, begin, end, step):
        return self.api("query_range", query=expression, start=begin, end=end, step=step)["result"]

    def firing(self):
        """The alerts that fire: (name, labels)."""
        return [
            (alert["labels"]["alertname"], alert["labels"])
            for alert in self.api("alerts")["alerts"]
            if alert["state"] == "firing"
        ]
