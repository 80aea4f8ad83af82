#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""The metrics on the page docs/users/monitoring.md are those that are scraped, with their types; the alerts there are those
of the rules, and alerts and dashboard use no other metric.

    documented.py TENURE SOURCE_DIR
"""
import re
import subprocess
import sys
from pathlib import Path

from stand import Stand, get, need


def documented(page, heading):
    """{metric: type} of the table behind a heading."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(tenure_\w+)` \| (\w+) \|", section, re.M))


def scraped(text):
    return dict(re.findall(r"^# TYPE (tenure_\w+) (\w+)$", text, re.M))


def check(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: only documented {sorted(set(expected) - set(found))}, only found "
                             f"{sorted(set(found) - set(expected))}, {found} != {expected}")  # fmt: skip


def main():
    tool, source = sys.argv[1], Path(sys.argv[2])
    page = (source / "docs/users/monitoring.md").read_text()
    of_program, of_exporter = documented(page, "Metrics of a program"), documented(page, "Metrics of the exporter")
    with Stand(tool) as stand:
        stand.start_redis()
        _, worker = stand.start_worker("worker", "--pool", "job:", "--size", "2", "--note", "a note", "sleep", "600")
        exporter = stand.start_exporter("exporter", "--pool", "job:", "--size", "2", "--election", "scheduler")
        worker_page = get(f"http://{worker}/metrics")[1]
        exporter_page = get(f"http://{exporter}/metrics")[1]
    check("tenure run --metrics", scraped(worker_page), of_program)
    check("tenure exporter", scraped(exporter_page), {**of_program, **of_exporter})
    for text in (worker_page, exporter_page):
        linted = subprocess.run([need("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
        if linted.returncode != 0 or linted.stdout or linted.stderr:
            raise AssertionError(f"promtool check metrics: {linted.stdout}{linted.stderr}")
        if re.search(r"[0-9a-f]{32}", text):
            raise AssertionError("the random part of an owner is on the page")

    rules = (source / "deploy/prometheus/tenure.rules.yml").read_text()
    check("alerts", sorted(re.findall(r"- alert: (\w+)", rules)), sorted(re.findall(r"^\| (Tenure\w+) \|", page, re.M)))
    sys.path.insert(0, str(source / "deploy/grafana"))
    from dashboard import PANELS

    used = set(re.findall(r"tenure_\w+", rules + " ".join(query.expression for panel in PANELS for query in panel.queries)))
    unknown = {name for name in used if re.sub("_bucket$", "", name) not in {**of_program, **of_exporter}}
    if unknown:
        raise AssertionError(f"alerts or dashboard use metrics that do not exist: {unknown}")
    print(f"{len(of_program)} metrics of a program and {len(of_exporter)} of the exporter, as documented")


if __name__ == "__main__":
    main()
