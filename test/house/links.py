#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Every relative link of the Markdown pages leads to a file, and its anchor to a heading. Every page that a source, a script or
a test names exists, and docs/README.md lists every page of docs/.

    links.py SOURCE
"""
import re
import sys
from pathlib import Path

# Markdown, and pictures for narrow screens in HTML
LINK = re.compile(r"\]\(([^()\s]+)\)|\bsrc(?:set)?=\"([^\"\s]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.M)
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
# a page as comments, messages and tests name it
MENTION = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
ELSEWHERE = ("http://", "https://", "mailto:")
# what other programs put into the tree, and tests that plant links which lead nowhere
LEFT_OUT = {".git", ".deps", ".venv", "build", "__pycache__", "links_test.py", "site_test.py", "shell_test.py"}
FEWEST = 100


def files(root):
    for path in sorted(root.iterdir()):
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from files(path)
        elif path.is_file():
            yield path


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def anchors(text):
    """The anchors of a page, as GitHub makes them of its headings."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (anchor if number == 0 else f"{anchor}-{number}") in found:
            number += 1
        found.add(anchor if number == 0 else f"{anchor}-{number}")
    return found


def broken(root):
    """What leads nowhere, and how many links and names were looked at."""
    findings = []
    seen = 0
    linked_by_index = set()
    index = root / "docs" / "README.md"
    for path in files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        name = path.relative_to(root)
        for mention in MENTION.finditer(text):
            seen += 1
            if not (root / mention.group(0)).is_file():
                findings.append(f"{name}:{text.count(chr(10), 0, mention.start()) + 1}: there is no {mention.group(0)}")
        if path.suffix != ".md":
            continue
        for link in LINK.finditer(CODE.sub(blank, text)):
            leads_to = link.group(1) or link.group(2)
            if leads_to.startswith(ELSEWHERE):
                continue
            seen += 1
            place = f"{name}:{text.count(chr(10), 0, link.start()) + 1}"
            target, _, anchor = leads_to.partition("#")
            page = (path.parent / target).resolve() if target else path
            if not page.exists():
                findings.append(f"{place}: there is no {target}")
            elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text(encoding="utf-8")):
                findings.append(f"{place}: {target or name} has no heading for #{anchor}")
            if path == index:
                linked_by_index.add(page)
    for page in sorted((root / "docs").rglob("*.md")):
        if page != index and page.resolve() not in linked_by_index:
            findings.append(f"docs/README.md does not list {page.relative_to(root)}")
    return findings, seen


def main():
    findings, seen = broken(Path(sys.argv[1]).resolve())
    print("\n".join([*findings, f"{seen} links and names of pages, {len(findings)} lead nowhere"]))
    if seen < FEWEST:
        sys.exit(f"fewer than {FEWEST}: this test sees nothing")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
