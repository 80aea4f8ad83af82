#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Workflows and hooks call scripts of this repository and nothing else, so that each step runs on any machine: every `run`
of .github/workflows is one call of a script in scripts/ or of .ci/run, every `uses` is one of a few actions that move files,
and so are the entries of .pre-commit-config.yaml, whose hooks are all local.

    workflows.py SOURCE
"""
import os
import re
import sys
from pathlib import Path

# a key of a mapping with its value, behind "- " or in "{...}", quoted or not
KEY = re.compile(r"""(?:^|[\s{,"'-])(run|uses|entry|repo|shell)["']?\s*:(?:\s+|$)(.*)""")
CALL = re.compile(r"(scripts/[a-z_]+|\.ci/run)((?: [\w./=:-]+| \$\{\{ matrix\.\w+ \}\})*)")
ACTIONS = {"actions/checkout", "actions/upload-artifact"}


def calls(path):
    """The keys that make something run, with line and value."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        if found := KEY.search(line):
            yield number, found.group(1), found.group(2).strip()


def faults(root):
    """What runs without being a script of the repository, and how many steps were looked at."""
    findings, seen = [], 0
    workflows = sorted((root / ".github" / "workflows").glob("*.y*ml"))
    for path in [*workflows, root / ".pre-commit-config.yaml"]:
        for number, key, value in calls(path):
            seen += 1
            place = f"{path.relative_to(root)}:{number}"
            if key == "uses":
                if value.split("@")[0] not in ACTIONS:
                    findings.append(f"{place}: the action {value}; allowed are {', '.join(sorted(ACTIONS))}")
            elif key == "repo":
                if value != "local":
                    findings.append(f"{place}: the hooks of {value}; only local ones are allowed")
            elif key == "shell":
                findings.append(f"{place}: a shell; scripts have their own")
            elif not (call := CALL.fullmatch(value)):
                findings.append(f"{place}: {key}: {value}: must be one call of scripts/NAME or .ci/run")
            elif not os.access(root / call.group(1), os.X_OK):
                findings.append(f"{place}: there is no program {call.group(1)}")
    return findings, seen


def main():
    findings, seen = faults(Path(sys.argv[1]).resolve())
    for finding in findings:
        print(finding)
    print(f"{seen} steps, {len(findings)} that call something else")
    return 1 if findings or seen < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
