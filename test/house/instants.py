#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Checks that the shells of the engine's machines compare no two instants: instants.py [REPOSITORY]

The rules of time live in lib/engine/machines/, which know no clock. A file that sends requests and sets timers may
compare instants only where ALLOWED says why."""
import re
import sys
from pathlib import Path

# lib/engine/NAME.hpp and lib/engine/NAME.cpp
SHELLS = ("wait_queue", "place_queue", "release_queue", "acquisition")
# (file, line without indentation) -> the reason
ALLOWED = {
    ("acquisition.cpp", "if (claim_ && claim_->mark.progressed != Instant{})"): "Instant{} means that nothing was written",
    ("acquisition.cpp", "bool const written = claim_ && claim_->mark.progressed != Instant{};"): "as above",
}

# `Instant x`, `Instant const x`, `std::optional<Instant> x()`, `auto const now = runtime_->now()`
DECLARED = re.compile(r"\bInstant(?:>|\b)(?:\s+const)?&?\s+(\w+)")
TAKEN = re.compile(r"\bauto (?:const )?(\w+) = [^;]*\bnow\(\)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
OPERAND = r"[\w.:*>()\[\]-]*?(\w+)(?:\(\)|\{\})?\)?"
# operators stand between spaces (clang-format), the brackets of templates do not
COMPARED = re.compile(OPERAND + r" (?:<|>|<=|>=|==|!=) [*(!]*(?:\w+(?:\(\))?(?:\.|->))*(\w+)")
CHOSEN = re.compile(r"\bstd::(?:min|max|clamp|ranges::min|ranges::max)\(([^;]*)")
# of Instant itself, and of structs that are declared elsewhere
KNOWN = {"now", "Instant", "since", "not_after", "progressed"}


def code_of(file):
    """The lines without comments and texts."""
    text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), file.read_text())
    return [STRING.sub('""', line) for line in text.splitlines()]


def instants_of(files):
    """The names of everything that is declared as an instant."""
    names = set(KNOWN)
    for file in files:
        for line in code_of(file):
            names.update(DECLARED.findall(line))
            names.update(TAKEN.findall(line))
    return names


def compares(line, names):
    """Whether the line compares instants, or chooses the earlier or later one."""
    if any(names.intersection(pair) for pair in COMPARED.findall(line)):
        return True
    return any(names.intersection(re.findall(r"\w+", arguments)) for arguments in CHOSEN.findall(line))


def violations(repository):
    engine = repository / "lib" / "engine"
    # a member of a machine's step or limits is an instant in the shell as well
    declaring = [*engine.glob("machines/*.hpp"), *(engine / f"{name}.hpp" for name in SHELLS)]
    shared = instants_of(file for file in declaring if file.is_file())
    found, unused = [], set(ALLOWED)
    further = sorted(file for name in SHELLS for file in engine.glob(f"{name}_*.cpp"))
    for file in [*(engine / f"{name}{ending}" for name in SHELLS for ending in (".hpp", ".cpp")), *further]:
        if not file.is_file():
            found.append(f"{file}: there is no such file")
            continue
        names = shared | instants_of([file])
        for number, line in enumerate(code_of(file), 1):
            if not compares(line, names):
                continue
            key = (file.name, line.strip())
            unused.discard(key)
            if key not in ALLOWED:
                found.append(f"lib/engine/{file.name}:{number} compares instants: '{line.strip()}': move it to a machine")
    return found + [f"instants.py allows a line that {name} does not have: '{line}'" for name, line in sorted(unused)]


if __name__ == "__main__":
    wrong = violations(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(wrong) or "the shells of the machines compare no instants")
    sys.exit(1 if wrong else 0)
