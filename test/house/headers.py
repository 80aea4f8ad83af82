#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Checks that each public header includes what declares the types that it names: headers.py [REPOSITORY]

The full tier compiles each header alone. This check needs no compiler, and finds most of the same mistakes."""
import re
import sys
from pathlib import Path

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r"^\s*#\s*include\s*<(tenure/[^>]+)>", re.MULTILINE)
# in a namespace, where nothing is indented
DEFINITION = re.compile(
    r"^(?:class|struct|enum class)\s+(?:\[\[nodiscard\]\]\s+)?(?:TENURE_API\s+)?([A-Z]\w*[a-z]\w*)[^;]*?\{", re.MULTILINE)
DECLARATION = re.compile(
    r"\b(?:class|struct|enum class|using|typename)\s+(?:\[\[nodiscard\]\]\s+)?(?:TENURE_\w+\s+)?([A-Z]\w*)")


def check(root):
    """Messages of the form "header: type", sorted."""
    texts, includes = {}, {}
    for header in sorted((root / "include").rglob("*.hpp")):
        name = str(header.relative_to(root / "include"))
        raw = header.read_text()
        includes[name] = set(INCLUDE.findall(raw))
        texts[name] = COMMENT.sub(" ", raw)
    defined = {}
    for name, text in texts.items():
        for kind in DEFINITION.findall(text):
            defined.setdefault(kind, set()).add(name)

    def reached(name):
        seen, rest = set(), [name]
        while rest:
            one = rest.pop()
            if one not in seen:
                seen.add(one)
                rest += includes.get(one, ())
        return seen

    found = []
    for name, text in texts.items():
        known = set()
        for one in reached(name):
            known |= set(DECLARATION.findall(texts.get(one, "")))
        used = set(re.findall(r"(?<![\w.>])([A-Z]\w*)", text))
        found += [f"{name}: {kind}" for kind in used if kind in defined and kind not in known]
    return sorted(found)


if __name__ == "__main__":
    problems = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2])
    for problem in problems:
        print(f"{problem} is declared in no header that it includes", file=sys.stderr)
    sys.exit(1 if problems else 0)
