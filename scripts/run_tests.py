#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Runs ctest and reports: one line of progress, then failures with their output, what was skipped and why, the ten
slowest tests, the table of the fleet if its tests ran, and as the last line "N passed, N failed". scripts/test calls it.

  run_tests.py PRESET [--strict] [CTEST_ARGUMENT...]
    --strict   a skipped test has failed, unless this machine allows no network namespaces
"""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as tree

DONE = re.compile(r"^\s*(?:(\d+)/(\d+) )?Test\s+#\d+: (.*?) \.*\s*(\*+)?(Passed|Skipped|Failed|Timeout|Not Run|Exception|Subprocess)")
BEGIN = re.compile(r"^\s*Start\s+\d+: |^\d+% tests passed|^\s*Test timeout")
NO_NETWORKS = "cannot make networks of its own"


class Progress:
    """On a terminal one line that is written over; elsewhere a line whenever a minute has passed."""

    def __init__(self):
        self.live = sys.stdout.isatty()
        self.failed = 0
        self.shown = time.monotonic()

    def show(self, number, total, name, passed):
        self.failed += not passed
        text = f"{number} of {total} tests" + (f", {self.failed} failed" if self.failed else "")
        if self.live:
            print(f"\r\033[K{text}: {name}"[:110], end="", flush=True)
        elif time.monotonic() - self.shown >= 60 or number == total:
            self.shown = time.monotonic()
            print(text, flush=True)

    def end(self):
        if self.live:
            print("\r\033[K", end="", flush=True)


def run(preset, arguments):
    """Runs ctest. Returns its exit status, its last lines, the test cases of its report, and what attempts that failed have
    printed, by the test's name: the report has only the last attempt."""
    report = os.path.abspath(f"build/{preset}/tests.xml")
    if os.path.exists(report):
        os.remove(report)
    command = ["ctest", "--preset", preset, "--output-junit", report, *arguments]
    progress, last, failures, printing = Progress(), [], {}, None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            last = [*last[-29:], line]
            if done := DONE.match(line):
                passed = done[5] in ("Passed", "Skipped")
                printing = None if passed else failures.setdefault(done[3], [])
                if done[1]:
                    progress.show(int(done[1]), int(done[2]), done[3], passed)
            elif BEGIN.match(line):
                printing = None
            elif printing is not None:
                printing.append(line)
    progress.end()
    cases = list(tree.parse(report).getroot().iter("testcase")) if os.path.exists(report) else []
    return process.returncode, last, cases, failures


def output_of(case):
    return (case.findtext("system-out") or "").strip()


def reason(case):
    """Why a test was skipped: what it said, or its last line."""
    text = output_of(case)
    said = re.search(r"explicitly with message:\s*\n(.*?)(?:\n\s*\n|\n={5}|\Z)", text, re.DOTALL)
    words = said[1] if said else text.splitlines()[-1] if text else "it was not built"
    return " ".join(words.split())


def fleet_table(cases):
    """The rows that the fleet's tests have printed (test/fleet/row.cpp), under one header."""
    lines = [line for case in cases if case.get("name").startswith("fleet: ") for line in output_of(case).splitlines()]
    return list(dict.fromkeys(line for line in lines if line.startswith("| ")))


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    preset, strict, arguments = arguments[0], "--strict" in arguments, [a for a in arguments[1:] if a != "--strict"]
    began = time.monotonic()
    status, last, cases, failures = run(preset, arguments)
    passed = [case for case in cases if case.get("status") == "run"]
    failed = [case for case in cases if case.get("status") == "fail"]
    skipped = [case for case in cases if case.get("status") not in ("run", "fail")]
    # networks of a test's own are the machine's to allow; everything else that is missing could be installed
    missing = [case for case in skipped if NO_NETWORKS not in reason(case)]
    if failed:
        print(f"\n{len(failed)} failed:")
        for case in failed:
            print(f"\n--- {case.get('name')}\n{output_of(case)}")
    elif status != 0 and not (strict and missing):
        print("".join(last))
    repeated = [case.get("name") for case in passed if case.get("name") in failures]
    if repeated:
        print(f"\n{len(repeated)} passed only when they were repeated:")
        for name in repeated:
            print(f"\n--- {name}\n{''.join(failures[name]).strip()}")
    if skipped:
        print(f"\n{len(skipped)} skipped:")
        for case in skipped:
            print(f"  {case.get('name')}: {reason(case)}")
    slowest = sorted(passed + failed, key=lambda case: -float(case.get("time")))[:10]
    if slowest:
        print("\nthe slowest:")
        for case in slowest:
            print(f"  {float(case.get('time')):6.1f} s  {case.get('name')}")
    if table := fleet_table(cases):
        print("\nthe fleet:")
        print("\n".join(table))
    not_passed = len(failed) + (len(missing) if strict else 0)
    print(f"\n{len(cases)} tests in {time.monotonic() - began:.0f} s")
    # a ctest that ends badly without a failed test has failed, too
    not_passed = not_passed or int(status != 0 or not passed)
    rest = len(skipped) - (len(missing) if strict else 0)
    print(f"{len(passed)} passed, {not_passed} failed" + (f", {rest} skipped" if rest else ""))
    return 1 if not_passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
