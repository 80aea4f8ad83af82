#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""The files of deploy/. Each check is a test:

    deployment.py systemd TENURE SOURCE_DIR     systemd-analyze verifies the unit, and its command is run as systemd does
    deployment.py schemas SOURCE_DIR            the manifests of Kubernetes and Compose; needs packages from PyPI
    deployment.py dashboard SOURCE_DIR          tenure.json is what dashboard.py writes; needs a package from PyPI
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from stand import Stand, eventually, free_port, get, need, skip


def verify(unit, stand, tool):
    """With the programs where they are here: verification looks for them."""
    copy = stand.directory / "worker@.service"
    environment = stand.directory / "store.env"
    environment.write_text(f"TENURE_STORE={stand.store}\n")
    text = unit.read_text()
    for before, after in (("/usr/bin/tenure", tool), ("/usr/bin/worker", "/bin/true"), ("/etc/tenure/store.env", environment)):
        if before not in text:
            raise AssertionError(f"the unit does not name {before}")
        text = text.replace(before, str(after))
    # the page is the package's, which is not installed here
    copy.write_text(re.sub(r"^Documentation=man:.*\n", "", text, flags=re.M))
    instance = stand.directory / "worker@1.service"
    words = [need("systemd-analyze"), "verify", "--man=no", str(instance)]
    result = subprocess.run(words, capture_output=True, text=True)
    print(f"systemd-analyze verify worker@1.service: exit code {result.returncode} {result.stdout}{result.stderr}".strip())
    if result.returncode != 0 or result.stderr:
        raise AssertionError("the unit is not verified")
    copy.write_text(copy.read_text().replace("Restart=always", "Restart=sometimes"))
    if not subprocess.run(words, capture_output=True, text=True).stderr:
        raise AssertionError("systemd-analyze finds nothing wrong in a unit that is wrong")


def check_security(unit):
    """A unit is locked down: 0 is safe, 10 is unsafe."""
    words = [need("systemd-analyze"), "security", "--offline=true", "--no-pager", "--threshold=40", str(unit)]
    result = subprocess.run(words, capture_output=True, text=True)
    print(result.stdout.strip().splitlines()[-1])
    if result.returncode != 0:
        raise AssertionError(f"{unit.name} is exposed")


def command_of(unit, tool, port, worker):
    line = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.M)[1]
    line = line.replace("%H", "host").replace("%i", "1").replace("127.0.0.1:9201", f"127.0.0.1:{port}")
    line = line.replace("/usr/bin/tenure", str(tool)).replace("/usr/bin/worker", shlex.join(worker)).replace("--ttl 10s", "--ttl 2s")
    return shlex.split(line)


def owner_of(stand, slot):
    words = ["redis-cli", "-p", str(stand.redis_port), "get", f"worker:{slot}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def run_unit(unit, stand, tool):
    """Kills the main process of the unit and restarts it, as Restart=always does. A worker never runs without its slot."""
    port = free_port()
    works = stand.directory / "works"
    worker = ["sh", "-c", f'echo "$TENURE_SLOT $$" > {works}.new; mv {works}.new {works}; exec sleep 600']
    command = command_of(unit, tool, port, worker)
    seen = []
    rounds = 4
    for number in range(rounds):
        if works.exists():
            works.unlink()
        main_process = stand.start("unit", *command)
        eventually("the worker runs", works.exists, 30)
        slot, pid = works.read_text().split()
        eventually("ready", lambda: get(f"http://127.0.0.1:{port}/ready")[0] == 200)
        end = time.monotonic() + 2.5
        checks = 0
        # longer than the ttl: it is renewed
        while time.monotonic() < end:
            if not owner_of(stand, slot).startswith("host:1/"):
                raise AssertionError(f"slot {slot} is not held while its worker runs: {owner_of(stand, slot)!r}")
            checks += 1
            time.sleep(0.05)
        last = number + 1 == rounds
        main_process.send_signal(signal.SIGTERM if last else signal.SIGKILL)
        main_process.wait(10)
        # the guard ends the worker before its slot can be another's
        def is_gone():
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                return True
            return state == "Z"

        eventually("the worker ends with its tenure", is_gone, 10)
        freed = not owner_of(stand, slot)
        seen.append(f"slot {slot}: held at each of {checks} looks; {'stopped' if last else 'killed'}, then {'free' if freed else 'taken'}")
        if freed != last:
            raise AssertionError(seen)
    successes = re.search(r"^SuccessExitStatus=(.*)$", unit.read_text(), re.M)[1].split()
    if str(main_process.returncode) not in successes:
        raise AssertionError(f"exit code {main_process.returncode} after a stop: the unit would be failed")
    print("\n".join(seen))


def lose(unit, stand, tool, operations):
    """The pattern of the documentation finds the line of a loss in the log, and nothing before."""
    pattern = re.search(r"journalctl .*-g '([^']+)'", operations.read_text())[1]
    works = stand.directory / "evicted"
    worker = ["sh", "-c", f'echo "$TENURE_SLOT" > {works}.new; mv {works}.new {works}; exec sleep 600']
    command = command_of(unit, tool, free_port(), worker)
    process = stand.start("evicted", *command)
    eventually("the worker runs", works.exists, 30)
    if re.search(pattern, stand.log("evicted")):
        raise AssertionError(f"{pattern!r} finds a loss that has not happened")
    slot = works.read_text().strip()
    words = [str(tool), "evict", "--store", stand.store, "--pool", "worker:", "--size", "16", "--slot", slot, "--yes"]
    subprocess.run(words, capture_output=True, check=True)
    process.wait(10)
    found = [line for line in stand.log("evicted").splitlines() if re.search(pattern, line)]
    print(f"exit code {process.returncode}; {pattern!r} finds:", *found, sep="\n")
    if process.returncode != 79 or len(found) != 1:
        raise AssertionError(stand.log("evicted"))


def systemd(tool, source):
    unit = source / "deploy/systemd/worker@.service"
    need("redis-cli")
    with Stand(tool) as stand:
        verify(unit, stand, tool)
        check_security(unit)
        check_security(unit.with_name("tenure-exporter.service"))
        stand.start_redis()
        run_unit(unit, stand, tool)
        lose(unit, stand, tool, source / "docs/users/operations.md")


def schemas(source):
    try:
        import compose_spec
        import kubernetes_validate
        import yaml
    except ImportError as missing:
        skip(f"{missing}: scripts/setup --monitoring installs it")
    for document in yaml.safe_load_all((source / "deploy/kubernetes/worker.yaml").read_text()):
        version = kubernetes_validate.validate(document, "1.31", strict=True)
        print(f"{document['kind']} {document['metadata']['name']}: valid for Kubernetes {version}")
    document["spec"]["replica"] = 3
    try:
        kubernetes_validate.validate(document, "1.31", strict=True)
    except Exception as refusal:  # whatever the validator's own is called
        print(f"and a field that does not exist is refused: {str(refusal).splitlines()[0]}")
    else:
        raise AssertionError("the validator accepts a field that does not exist")

    text = (source / "deploy/compose/compose.yaml").read_text()

    def parse(text):
        # merged first: Compose knows merge keys, but the validator does not
        return compose_spec.PyCompose.from_yaml(json.dumps(yaml.safe_load(text)))

    compose = parse(text)
    compose.validate()
    print(f"compose.yaml: {', '.join(compose.to_dict()['services'])}")
    try:
        parse(text.replace("restart: always", "restart: sometimes"))
    except Exception as refusal:
        print(f"and a value that does not exist is refused: {refusal}")
    else:
        raise AssertionError("the validator accepts a value that does not exist")


def dashboard(source):
    sys.path.insert(0, str(source / "deploy/grafana"))
    from dashboard import text

    try:
        written = text()
    except ImportError as missing:
        skip(f"{missing}: scripts/setup --monitoring installs it")
    if written != (source / "deploy/grafana/tenure.json").read_text():
        raise AssertionError("tenure.json is not what dashboard.py writes: run deploy/grafana/dashboard.py")


if __name__ == "__main__":
    os.environ.pop("TENURE_STORE", None)
    {"systemd": systemd, "schemas": schemas, "dashboard": dashboard}[sys.argv[1]](*[
        Path(word).resolve() for word in sys.argv[2:]
    ])
