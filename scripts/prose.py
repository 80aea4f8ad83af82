#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Finds words that make the prose hard to read, in comments of C++ files and in Markdown, and prints file:line: word.
#
#   scripts/prose.py [path...]      default: the paths of COVERED; exit code 1 when there are findings
import re
import subprocess
import sys
from pathlib import Path

# Git paths that are checked.
COVERED = ["*.md", "include", "tools", "examples", "bench", "lib", "test"]
# Regular expressions; "if there is none" is fine.
BANNED = ["whoever", "somebody", "anybody", "nobody", "(?<!there )is none", "any more", "makes no sense", "so many",
          "mended", "who waits", "what is asked", "comes of", "for want of", "of its own accord", "as ever",
          "told by", "so long", "those who", "that which"]

# A space of a phrase stands for a line break within a comment too.
banned = re.compile(r"\b(" + re.sub(r" (?!\))", r"[\\s/*]+", "|".join(BANNED)) + r")\b", re.IGNORECASE)
# Comments, and the literals that may look like one.
cpp = re.compile(r'(?P<prose>//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"'
                 r"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.DOTALL)
markdown = re.compile(r"^```.*?^```|`[^`]*`", re.DOTALL | re.MULTILINE)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def prose(path):
    """The text of a file with everything but its prose replaced by spaces."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return markdown.sub(lambda code: blank(code[0]), text)
    kept, end = [], 0
    for comment in cpp.finditer(text):
        if comment["prose"]:
            kept += blank(text[end:comment.start()]), comment["prose"]
            end = comment.end()
    return "".join(kept)


root = Path(__file__).resolve().parent.parent
listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *(sys.argv[1:] or COVERED)]
listed = subprocess.run(listing, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0")
found = 0
for name in listed:
    path = root / name
    if path.suffix in (".hpp", ".cpp", ".md") and path.exists():
        text = prose(path)
        for word in banned.finditer(text):
            found += 1
            print(f"{name}:{text.count(chr(10), 0, word.start()) + 1}: {' '.join(re.split(r'[^a-zA-Z]+', word[0]))}")
sys.exit(1 if found else 0)
