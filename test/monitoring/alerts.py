#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A real Prometheus scrapes a service, workers and exporters, and its alerts fire while the test fills a pool, kills a
leader, stops a service and then the store. Each panel of the dashboard has data before that.

    alerts.py TENURE MONITORED_SERVICE SOURCE_DIR [--picture FILE]
"""
import os
import re
import signal
import sys
import time
from pathlib import Path

from stand import Prometheus, Stand, eventually, free_port, get, listens

# the alerts of an operator wait for minutes
FASTER = 20
TTL = "2s"


def shorten(rules):
    """The same rules with all durations divided, and a lock that is held for seconds is held for too long."""
    units = {"s": 1, "m": 60, "h": 3600}
    shortened = re.sub(
        r"(\[|for: )(\d+)([smh])(\]|$)",
        lambda match: f"{match[1]}{max(3, int(match[2]) * units[match[3]] // FASTER)}s{match[4]}",
        rules,
        flags=re.MULTILINE,
    )
    if shortened == rules or "> 3600" not in rules:
        raise AssertionError("the rules have no durations to shorten")
    return shortened.replace("> 3600", "> 40")


def fill(expression):
    """A query of the dashboard with its variables replaced."""
    return re.sub(r"\$(job|store|name)\b", ".*", expression).replace("$__rate_interval", "5s")


def is_data(result):
    return any(sample != "NaN" for series in result for sample in (series["value"][1],))


def check_panels(prometheus, panels):
    def empty():
        return [
            f"{panel.title}: {query.expression}"
            for panel in panels
            for query in panel.queries
            if not is_data(prometheus.query(fill(query.expression)))
        ]

    try:
        eventually("each panel has data", lambda: not empty(), 40)
    except AssertionError:
        raise AssertionError("\n".join(["panels without data:", *empty()])) from None
    count = sum(len(panel.queries) for panel in panels)
    print(f"{len(panels)} panels, {count} queries: each has data")


def metric_names(*addresses):
    return sorted({name for address in addresses for name in re.findall(r"^# TYPE (\S+)", get(f"http://{address}/metrics")[1], re.M)})


def main():
    tool, service, source = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    picture = Path(sys.argv[5]) if sys.argv[4:5] == ["--picture"] else None
    sys.path.insert(0, str(source / "deploy/grafana"))
    from dashboard import PANELS

    with Stand(tool) as stand:
        redis = stand.start_redis()
        service_address = f"127.0.0.1:{free_port()}"
        monitored = stand.start("service", service, stand.store, service_address, "1500")
        workers = [stand.start_worker(f"worker{n}", "--pool", "job:", "--size", "4", "--ttl", TTL, "sleep", "600") for n in (1, 2)]
        leader = stand.start_tool("leader", "elect", "scheduler", "--ttl", TTL, "sleep", "600")
        lock, lock_address = stand.start_worker("lock", "--lock", "nightly", "--ttl", TTL, "sleep", "600")
        exporters = [
            stand.start_exporter("exporter", "--pool", "job:", "--size", "4", "--election", "scheduler"),
            stand.start_exporter("locks", "--lock", "nightly"),
        ]
        eventually("the service listens", lambda: listens(int(service_address.rpartition(":")[2])))

        rules = stand.directory / "tenure.rules.yml"
        rules.write_text(shorten((source / "deploy/prometheus/tenure.rules.yml").read_text()))
        later = f"127.0.0.1:{free_port()}"
        prometheus = Prometheus(
            stand, rules, {"service": [service_address], "worker": [lock_address, later, *(one[1] for one in workers)], "exporter": exporters}
        )
        began = time.time()

        def fired(alert, what, limit=60):
            labels = eventually(f"{alert} fires after {what}",
                                lambda: next((labels for name, labels in prometheus.firing() if name == alert), None), limit)
            shown = {name: value for name, value in labels.items() if name not in ("alertname", "severity")}
            print(f"{time.time() - began:5.1f} s  {alert} fires after {what}: {shown}", flush=True)

        names = metric_names(service_address, *exporters)
        print(f"{len(names)} metrics as scraped:")
        print("".join(f"  {name}\n" for name in names), end="")
        check_panels(prometheus, PANELS)
        # Two of four slots and the service's are held. The longest alert waits for 15 s, and a rule is evaluated each second.
        time.sleep(17)
        if prometheus.firing():
            raise AssertionError(f"alerts while all is well: {prometheus.firing()}")
        print(f"{time.time() - began:5.1f} s  all is well, and no alert fires", flush=True)

        full, _ = stand.start_worker("worker4", "--pool", "job:", "--size", "4", "--ttl", TTL, "sleep", "600")
        fired("TenurePoolNearlyFull", "the last slot was taken")

        os.kill(leader.pid, signal.SIGKILL)
        fired("TenureNoLeader", "the leader was killed")

        os.kill(monitored.pid, signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(monitored.pid, signal.SIGCONT)
        fired("TenureLeaseLost", "the service had been stopped for longer than its ttl")

        fired("TenureLockHeldTooLong", "the lock had been held for 40 s")
        if picture:
            from picture import draw

            draw(prometheus, PANELS, fill, began, time.time(), picture)
            print(f"{picture}: {picture.stat().st_size} bytes")

        os.kill(redis.pid, signal.SIGKILL)
        fired("TenureStoreUnavailable", "the store was killed")
        fired_on = {labels["store"] for name, labels in prometheus.firing() if name == "TenureStoreUnavailable"}
        if fired_on != {stand.store + "/0"}:
            raise AssertionError(f"the store's label: {fired_on}")
        if lock.poll() is None:
            eventually("a run without a store ends", lambda: lock.poll() is not None, 15)
        print("ok")


if __name__ == "__main__":
    main()
