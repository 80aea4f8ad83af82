#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Finds words that make the prose hard to read, in comments of C++ files and in Markdown, and prints file:line: word.
# Then prints, for each folder of SHARES, the share of its comment sentences and of its names of tests that begin with
# a clause ("What a client sends ..."), and every such sentence of a folder above the limit.
#
#   scripts/prose.py [path...]      default: the paths of COVERED; exit code 1 when there are findings
import collections
import re
import subprocess
import sys
from pathlib import Path

# Git paths that are checked.
COVERED = ["*.md", "include", "tools", "examples", "bench", "lib", "test"]
# Regular expressions; "if there is none" is fine.
BANNED = ["whoever", "somebody", "anybody", "nobody", "(?<!there )is none", "any more", "makes no sense", "so many",
          "mended", "who waits", "what is asked", "comes of", "for want of", "of its own accord", "as ever",
          "told by", "so long", "those who", "that which", "frees (?=when|within|after|in|at|by|that)", "stands? in \\[",
          "stood still", "is at it", "in its eyes"]
# Regular expressions for Markdown alone: the text of a link is the title of its page, and a page is "seen", not owned.
BANNED_LINKS = [r"\[[\w-]+\.md[^\]]*\]\(", r"\]\([^)\s]+\)\s+(?:has|have)\s+(?:the|them|all|more|its)\b"]
# Folders whose sentences are counted.
SHARES = ["lib", "include", "tools", "test", "bench"]
# Share of a folder's sentences, and of its names of tests, that may begin with a clause in the place of its subject.
LIMIT = 0.005

# A space of a phrase stands for a line break within a comment too.
banned = re.compile(r"\b(" + re.sub(r" (?!\))", r"[\\s/*]+", "|".join(BANNED)) + r")\b", re.IGNORECASE)
links = re.compile("|".join(BANNED_LINKS))
# Comments, and the literals that may look like one.
cpp = re.compile(r'(?P<prose>//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"'
                 r"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.DOTALL)
markdown = re.compile(r"^```.*?^```|`[^`]*`", re.DOTALL | re.MULTILINE)

clause = re.compile(r"(what|who|whose|those|whatever|whoever)\b", re.IGNORECASE)
# A comment ends at an empty line, and where Doxygen begins another part, perhaps with the name of a parameter.
end_of_paragraph = re.compile(r"\n[\s/*]*\n|@param\s+\w+|@\w+")
# "e.g." and "3.5" are inside of a sentence.
end_of_sentence = re.compile(r"[.!?][)\"`']*(?=\s+[^a-z\s])")
test_name = re.compile(r'\bTEST_CASE(?:_METHOD)?\(\s*(?:[\w:]+,\s*)?"((?:\\.|[^"\\])*)"')


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


def comments(source):
    """(begin, end) of all comments in the text of a C++ file; lines below each other in the same column are one."""
    begin = end = column = None
    for comment in cpp.finditer(source):
        if not comment["prose"]:
            continue
        here = comment.start() - source.rfind("\n", 0, comment.start())
        if begin is not None and (here != column or source[end:comment.start()].strip(" ") != "\n"):
            yield begin, end
            begin = None
        if begin is None:
            begin, column = comment.start(), here
        end = comment.end()
    if begin is not None:
        yield begin, end


def comment_sentences(source):
    """(offset, sentence) of all sentences in the comments of a C++ file."""
    for begin, end in comments(source):
        ends = {*(match.end() for pattern in (end_of_paragraph, end_of_sentence)
                  for match in pattern.finditer(source, begin, end)), end}
        for stop in sorted(ends):
            start = re.compile(r"[\s/*!<(\"]*").match(source, begin, stop).end()
            if start < stop:
                yield start, re.sub(r"[\s/*]+", " ", source[start:stop])
            begin = stop


root = Path(__file__).resolve().parent.parent
listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *(sys.argv[1:] or COVERED)]
listed = subprocess.run(listing, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0")
found = 0
# Of each folder and kind: the number of sentences, and those that begin with a clause.
counts = collections.defaultdict(int)
clauses = collections.defaultdict(list)
for name in listed:
    path = root / name
    if path.suffix not in (".hpp", ".cpp", ".md") or not path.exists():
        continue
    text = prose(path)
    for word in banned.finditer(text):
        found += 1
        print(f"{name}:{text.count(chr(10), 0, word.start()) + 1}: {' '.join(re.split(r'[^a-zA-Z]+', word[0]))}")
    if path.suffix == ".md":
        for link in links.finditer(text):
            found += 1
            print(f"{name}:{text.count(chr(10), 0, link.start()) + 1}: {' '.join(link[0].split())}")
    folder = name.split("/")[0]
    if path.suffix == ".md" or folder not in SHARES:
        continue
    source = path.read_text(encoding="utf-8")
    names = ((match.start(1), match[1]) for match in test_name.finditer(source))
    for kind, sentences in (("comment sentences", comment_sentences(source)), ("names of tests", names)):
        for at, sentence in sentences:
            counts[folder, kind] += 1
            if clause.match(sentence):
                clauses[folder, kind].append(f"{name}:{source.count(chr(10), 0, at) + 1}: {sentence}")
for (folder, kind), count in sorted(counts.items()):
    share = len(clauses[folder, kind]) / count
    print(f"{folder}: {share:.2%} of {count} {kind} begin with a clause")
    if share > LIMIT:
        found += 1
        print(*clauses[folder, kind], sep="\n")
sys.exit(1 if found else 0)
