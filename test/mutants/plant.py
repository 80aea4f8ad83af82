#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Copies the library's sources and plants the bugs of the .mutants files in the copy (README.md beside this file).

  plant.py --check SOURCES MUTANTS...      only checks that each original is found exactly once
  plant.py SOURCES MUTANTS... --into DIR   writes DIR/lib and DIR/mutants.cpp; leaves files that would not change alone
"""
import argparse
import pathlib
import re
import sys

KINDS = ("statements", "expression", "before")
SOURCES = (".cpp", ".hpp")


class Mistake(Exception):
    """A .mutants file that cannot be planted; the message says where and why."""


class Site:
    def __init__(self, where, file):
        self.where, self.file, self.kind = where, file, None
        self.original, self.planted = [], []


class Mutant:
    def __init__(self, where, name, layer):
        self.where, self.name, self.layer = where, name, layer
        self.rules, self.sites = [], []


def read(path):
    """The mutants of one file."""
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        mutant = mutants[-1] if mutants else None
        site = mutant.sites[-1] if mutant and mutant.sites else None
        word, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if word == "mutant":
            mutants.append(Mutant(where, rest, path.stem))
        elif mutant is None:
            raise Mistake(f"{where}: a file begins with a line 'mutant NAME'")
        elif word == "breaks":
            mutant.rules = rest.split()
        elif word == "in":
            mutant.sites.append(Site(where, rest))
        elif site is None:
            raise Mistake(f"{where}: a line 'in FILE' is missing")
        elif line in KINDS:
            site.kind = line
        elif line[0] == "-":
            site.original.append(line[1:])
        elif line[0] == "+":
            site.planted.append(line[1:])
        else:
            raise Mistake(f"{where}: unexpected line '{line}'")
    for mutant in mutants:
        check(mutant)
    return mutants


def check(mutant):
    if not re.fullmatch(r"[a-z][a-z0-9_]*", mutant.name):
        raise Mistake(f"{mutant.where}: '{mutant.name}' is not a name in snake_case")
    if not mutant.rules:
        raise Mistake(f"{mutant.where}: {mutant.name} does not say which rules it breaks")
    if not mutant.sites:
        raise Mistake(f"{mutant.where}: {mutant.name} changes nothing")
    for site in mutant.sites:
        if site.kind is None or not site.original or not site.planted:
            raise Mistake(f"{site.where}: {mutant.name} needs one of {', '.join(KINDS)}, lines with - and lines with +")


def find(site, text):
    """Where the original begins and ends in the source."""
    wanted = "\n".join(site.original)
    wanted = wanted.strip() if site.kind == "expression" else wanted
    found = text.count(wanted)
    if found != 1:
        raise Mistake(f"{site.where}: the original is found {found} times in lib/{site.file}, not once:\n{wanted}")
    begin = text.index(wanted)
    return begin, begin + len(wanted)


def plant(text, sites):
    """The source with all bugs of `sites`, pairs of a bug's number and its site, in it."""
    # from the end to the beginning, so that positions stay true; those of one place are nested into each other
    places = {}
    for number, site in sites:
        places.setdefault(find(site, text), []).append((number, site))
    end_of_last = len(text)
    for (begin, end), here in sorted(places.items(), reverse=True):
        if end > end_of_last:
            raise Mistake(f"{here[0][1].where}: the original overlaps that of another bug in lib/{here[0][1].file}")
        end_of_last = begin
        result = text[begin:end]
        for number, site in here:
            result = planted_in(result, number, site)
        text = text[:begin] + result + text[end:]
    return '#include "mutants/active.hpp"\n' + text


def planted_in(original, number, site):
    active = f"::tenure::mutants::active({number})"
    code = "\n".join(site.planted)
    if site.kind == "expression":
        return f"({active} ? ({code.strip()}) : ({original}))"
    if site.kind == "before":
        return f"if ({active}) {{\n{code}\n}}\n{original}"
    return f"if ({active}) {{\n{code}\n}} else {{\n{original}\n}}"


def table(mutants):
    """The source of mutants::all()."""
    rows = "".join(f'    {{"{one.name}", "{one.layer}", "{" ".join(one.rules)}"}},\n' for one in mutants)
    return (
        '#include "mutants/mutants.hpp"\n\n#include <array>\n\nnamespace tenure::mutants\n{\n\n'
        f"std::span<Mutant const> all()\n{{\n    static constexpr std::array<Mutant, {len(mutants)}> mutants{{{{\n{rows}    }}}};\n"
        "    return mutants;\n}\n\n} // namespace tenure::mutants\n"
    )


def write(path, text):
    """Leaves a file alone that would not change: nothing is compiled again for it."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments):
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("sources", type=pathlib.Path)
    options.add_argument("mutants", type=pathlib.Path, nargs="+")
    options.add_argument("--check", action="store_true")
    options.add_argument("--into", type=pathlib.Path)
    options = options.parse_args(arguments)
    mutants = [mutant for path in options.mutants for mutant in read(path)]
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f"{name}: two bugs have this name")
    sites = {}
    for number, mutant in enumerate(mutants, 1):
        for site in mutant.sites:
            sites.setdefault(site.file, []).append((number, site))
    texts = {}
    for file, here in sites.items():
        source = options.sources / file
        if not source.is_file():
            raise Mistake(f"{here[0][1].where}: there is no lib/{file}")
        texts[file] = plant(source.read_text(), here)
    print(f"{len(mutants)} mutants in {len(texts)} files")
    if options.check:
        return
    kept = set()
    for source in options.sources.rglob("*"):
        if source.suffix in SOURCES:
            file = source.relative_to(options.sources).as_posix()
            kept.add(file)
            write(options.into / "lib" / file, texts.get(file) or source.read_text())
    for stale in (options.into / "lib").rglob("*"):
        if stale.is_file() and stale.relative_to(options.into / "lib").as_posix() not in kept:
            stale.unlink()
    write(options.into / "mutants.cpp", table(mutants))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Mistake as mistake:
        sys.exit(f"plant.py: {mistake}")
