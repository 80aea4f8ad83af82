#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""docs/users/errors.md has every error and every log line of the sources, and nothing that the sources no longer have.

    messages.py SOURCE

- Each `errc` stands in the table of errors with its message and its conditions, and the table has no other row.
- Each line that the library logs, and each line that the program `tenure` writes about itself, stands in a table of log lines, word
  for word: a word in capitals stands for what differs. Each line of these tables is still written somewhere.
- Each other message of the page consists of literals of the sources, but for values and words of servers.

Tests of the library compare further messages with the page, as users read them: test/harness/documented.hpp.
"""
import itertools
import re
import sys
from pathlib import Path

PAGE = "docs/users/errors.md"
VARIES = "\0"
# the library's calls, and those of the program
CALL = re.compile(r"(?:->|\.|\s)(log|say|info|warning|error)\(|\(?\*sink\)?[,(]")
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]*\b(:[A-Z][A-Z_]*\b)*")
FEWEST = 40

# Calls whose text is made elsewhere: (file, what is passed), and where its words are documented or checked.
COMPOSED = {
    ("lib/engine/store_log.cpp", "line"): "a message about an option",
    ("lib/engine/store_log.cpp", 'store_ + ": " + std::string(line)'): "puts the store's name in front",
    ("lib/runtime/log.cpp", "line"): "hands a line on",
    ("lib/runtime/log_queue.cpp", "text"): "hands a line on",
    ("lib/store/redis/link/connection.cpp", "line->line"): "hands on the lines of connection_machine.cpp",
    ("lib/store/etcd/http/client_endpoints.cpp", 'name_ + ": " + last_error_.text() + how_often(*repeated)'): "a detail of etcd",
    ("lib/store/postgresql/link/client.cpp", 'name_ + ": " + last_error_.text() + how_often(*repeated)'): "a detail of PostgreSQL",
    ("tools/tenure/run/guarded_command.cpp", "describe_loss(key, look.states.front())"): "RETURNED",
    ("tools/tenure/run/leased_command.cpp", "settings_.window->describe_overrun(std::chrono::floor<milliseconds>(now - granted))"): "RETURNED",
    ("tools/tenure/main.cpp", "in_terms_of_options(error.what())"): "a message about an option",
    ("tools/tenure/main.cpp", "error.what()"): "an error of the machine",
}
# The message of an error with its detail, which have tables of their own.
EXPLAINED = re.compile(r"explain\([\w.:]+, [\w:]+\)")
# Functions that put a whole line together.
RETURNED = {"tools/tenure/keys/holder.cpp": "std::string describe_loss(", "tools/tenure/run/window.cpp": "std::string Window::describe_overrun("}
# What others say in a message: servers, the C client of ZooKeeper, OpenSSL and the system.
FOREIGN = [
    "invalid username-password pair or user is disabled", "must be called with the client already authenticated",
    "option can be used to authenticate the client and select the RESP protocol version at the same time",
    "this user has no permissions to run the", "command or its subcommand", "Operation against a key holding the wrong kind of value",
    "Redis is running in protected mode", "DB index is out of range", "Redis is loading the dataset in memory",
    "max number of clients reached", "unknown command", "value is not an integer or out of range",
    "authentication failed, invalid user ID or password", "authentication is not enabled", "user name is empty", "permission denied",
    "database space exceeded", "server refused to accept the client", "Host is down", "unable to get local issuer certificate",
    "self-signed certificate in certificate chain", "certificate has expired", "the system's certificates",
]


class Expression:
    """A C++ expression that makes a text: its literals, and a mark for everything else."""

    def __init__(self, text):
        self.text = text

    def alternatives(self):
        parts = [self._operand(operand) for operand in split(self.text, "+")]
        return {"".join(words) for words in itertools.product(*parts)}

    @staticmethod
    def _operand(text):
        text = text.strip()
        if re.fullmatch(r'("(?:\\.|[^"\\])*"\s*)+', text):
            return ["".join(LITERAL.findall(text)).replace('\\"', '"').replace("\\\\", "\\")]
        if text.startswith("(") and end_of(text, 0) == len(text) - 1:
            text = text[1:-1]
        choice = split(text, "?")
        if len(choice) == 2:
            branches = split(choice[1], ":")
            if len(branches) == 2:
                return [words for branch in branches for words in Expression(branch).alternatives()]
        return [VARIES]


def end_of(text, begin):
    """Where the bracket that opens at `begin` closes."""
    depth, quoted, i = 0, False, begin
    while i < len(text):
        if quoted:
            if text[i] == "\\":
                i += 1
            elif text[i] == '"':
                quoted = False
        elif text[i] == '"':
            quoted = True
        elif text[i] in "({[":
            depth += 1
        elif text[i] in ")}]":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise ValueError("unbalanced: " + text[begin:begin + 80])


def split(text, separator):
    """The parts of an expression between separators outside of brackets and literals; of ":" and "?" only single ones."""
    parts, begin, i = [], 0, 0
    while i < len(text):
        if text[i] == '"':
            i = LITERAL.match(text, i).end()
            continue
        if text[i] in "({[":
            i = end_of(text, i)
        elif text.startswith(("::", "->"), i):
            i += 1
        elif text[i] == separator:
            parts.append(text[begin:i])
            begin = i + 1
        i += 1
    return [*parts, text[begin:]]


def arguments(text, begin):
    return [argument.strip() for argument in split(text[begin + 1:end_of(text, begin)], ",")]


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def without_name(template):
    """A line begins with the name of the store or server, which the page leaves out."""
    return re.sub(rf"^{VARIES}: ", "", template)


def logged(root):
    """The templates of all lines that are logged, each with a place, and the calls of COMPOSED that were met."""
    lines, composed = {}, set()
    for name, text in sources(root, "lib", "tools"):
        if name.startswith("lib/conformance/"):
            continue
        for call in CALL.finditer(text):
            begin = call.end() - 1
            if text[begin] == ",":
                passed = [argument.strip() for argument in split(text[call.end():end_of(text, text.rfind("(", 0, begin))], ",")]
            else:
                passed = arguments(text, begin)
            kind = call.group(1)
            if kind in (None, "log"):
                if len(passed) != 2 or passed[0] in ("LogLevel", "LogLevel::debug") or re.search(r"\w &?\w+$|&$", passed[0]):
                    continue  # another function, a line for debugging, or a declaration
                words = passed[1]
            elif name.startswith("tools/") and len(passed) == 1 and not re.match(r"(std::string_view|std::string const&)", passed[0]):
                words = passed[0]
            else:
                continue
            words = re.sub(r"\s+", " ", words)
            place = f"{name}:{text.count(chr(10), 0, call.start()) + 1}"
            if (name, words) in COMPOSED:
                composed.add((name, words))
                continue
            if EXPLAINED.fullmatch(words):
                continue
            for template in Expression(words).alternatives():
                lines.setdefault(without_name(template), place)
        if name in RETURNED:
            begin = text.index(RETURNED[name])
            for words in re.findall(r"return ((?:[^;\"]|\"[^\"]*\")+);", text[begin:text.index("\n}", begin)]):
                for template in Expression(re.sub(r"\s+", " ", words)).alternatives():
                    lines.setdefault(without_name(template), f"{name}: {RETURNED[name]}")
    return lines, composed


def tidy(template):
    """With one mark for each stretch that differs, and one blank between words."""
    return re.sub(rf"{VARIES}[{VARIES} ]*{VARIES}", VARIES, re.sub(r"\s+", " ", template)).strip()


def section(page, title):
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page, re.S | re.M)
    return found.group(1) if found else ""


def rows(text):
    """The cells of all tables, without their heads."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("|") and not line.startswith("| ---") and not lines[number + 1].startswith("| ---"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def spans(cell):
    return [span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cell)]


def errors(root):
    """Name, message and conditions of each errc."""
    text = (root / "lib/api/errc.cpp").read_text(encoding="utf-8")
    messages = {name: "".join(LITERAL.findall(words))
                for name, words in re.findall(r'case errc::(\w+):\s*return ((?:"[^"]*"\s*)+);', text)}
    belongs = text[text.index("bool belongs_to("):]
    belongs = belongs[:belongs.index("\n}")]
    conditions = {}
    for names, answer in re.findall(r"((?:case errc::\w+:\s*)+)return ([^;]+);", belongs):
        for name in re.findall(r"errc::(\w+)", names):
            conditions[name] = sorted(re.findall(r"condition::(\w+)", answer))
    return {name: (message, conditions[name]) for name, message in messages.items()}


def check_errors(root, page):
    known = errors(root)
    written = {}
    for cells in rows(section(page, "Errors")):
        names = spans(cells[0])
        if len(names) == 1 and len(cells) == 4:
            written[names[0]] = (" ".join(spans(cells[1])), sorted(spans(cells[-1])))
    for name, (message, conditions) in known.items():
        if name not in written:
            yield f"{PAGE} lacks the error `{name}`: `{message}`"
        elif written[name] != (message, conditions):
            yield f"{PAGE}: `{name}` is `{message}`, conditions: {', '.join(conditions) or 'none'}"
    for name in written:
        if name not in known:
            yield f"{PAGE} has the error `{name}`, which there is not"


def check_lines(root, page):
    lines, composed = logged(root)
    written = {}
    for cells in rows(section(page, "Log lines")):
        for span in spans(cells[0]):
            written[tidy(PLACEHOLDER.sub(VARIES, span))] = span
    for template, place in lines.items():
        if tidy(PLACEHOLDER.sub(VARIES, template)) not in written:
            yield f"{place}: {PAGE} lacks the line `{template.replace(VARIES, '...')}`"
    wanted = {tidy(PLACEHOLDER.sub(VARIES, template)) for template in lines}
    for template, span in written.items():
        if template not in wanted:
            yield f"{PAGE}: no source logs `{span}`"
    for call in COMPOSED.keys() - composed:
        yield f"test/house/messages.py: {call[0]} no longer logs {call[1]}"
    if len(lines) < FEWEST:
        yield f"fewer than {FEWEST} lines are logged: this test sees nothing"


def literals(root):
    """All texts of the sources that are long enough to be a part of a message."""
    found = set()
    for _, text in sources(root, "lib", "tools", "test"):
        for run in re.findall(r'(?:"(?:\\.|[^"\\\n])*"\s*)+', text):
            words = "".join(LITERAL.findall(run)).replace('\\"', '"').replace("\\\\", "\\")
            if len(words) > 4:
                found.add(words)
    return found


def check_stale(root, page):
    """Messages outside of these two tables with words that no source has."""
    known = literals(root)
    rest = page.replace(section(page, "Errors"), "").replace(section(page, "Log lines"), "")
    for cells in rows(rest):
        for span in spans(cells[-1]):
            for words in FOREIGN:
                span = span.replace(words, VARIES)
            covered = [False] * len(span)
            for words in known:
                at = span.find(words)
                while at >= 0:
                    covered[at:at + len(words)] = [True] * len(words)
                    at = span.find(words, at + 1)
            left = "".join(VARIES if hidden else letter for hidden, letter in zip(covered, span))
            for gap in left.split(VARIES):
                if len(re.findall(r"\b[a-z]{2,}\b", gap)) > 2:
                    yield f"{PAGE}: no source says \"{gap.strip()}\": `{span}`"


def check(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    return [*check_errors(root, page), *check_lines(root, page), *check_stale(root, page)]


def main():
    findings = check(Path(sys.argv[1]).resolve())
    print("\n".join([*findings, f"{len(findings)} differences between the sources and {PAGE}"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
