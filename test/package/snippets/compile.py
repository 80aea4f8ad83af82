#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Compiles every `cpp` block of README.md and docs/, with nothing added but the names that prelude.hpp declares.

    compile.py SOURCE COMPILER [FLAG...]

A block that names an optional library needs a build with it; one for a library of other projects is compiled nowhere. A block that defines functions stands in a namespace of its own; any other one is the body of a coroutine. #line directives
let the compiler name page and line.
"""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.S | re.M)
FUNCTION = re.compile(r"^(?!auto |co_)[\w:<>]+ \w+\([^;]*\)\n(?:\{|try )", re.M)
FEWEST = 12
# what names a library that may be missing, and when it is there; libpq's calls are compiled in examples/guarded_write.cpp
OPTIONAL = {"opentelemetry::": "TENURE_HAS_OPENTELEMETRY", "prometheus::": "TENURE_HAS_PROMETHEUS", "PGresult": "0", "pqxx::": "0"}


def translation_unit(pages):
    """The blocks of all pages, and how many there are."""
    lines = ['#include "prelude.hpp"']
    count = 0
    for page, text in pages:
        for match in BLOCK.finditer(text):
            count += 1
            block = match.group(1)
            line = text.count("\n", 0, match.start(1)) + 1
            # prelude.hpp has them
            block = re.sub(r"^#include .*$", "", block, flags=re.M)
            here = f'#line {line} "{page}"\n{block}'
            needed = [macro for name, macro in OPTIONAL.items() if name in block]
            lines += [f"#if {macro}" for macro in needed]
            if FUNCTION.search(block):
                # a program's entry is a function like others here
                lines.append(f"namespace reader::block_{count}\n{{\n" + here.replace("int main()", "int run()") + "}")
            else:
                lines.append(f"namespace reader\n{{\nasio::awaitable<void> block_{count}()\n{{\n{here}co_return;\n}}\n}}")
            lines += ["#endif"] * len(needed)
    return "\n".join(lines) + "\n", count


def main():
    source = pathlib.Path(sys.argv[1])
    paths = [source / "README.md", *sorted((source / "docs").rglob("*.md"))]
    unit, count = translation_unit([(path.relative_to(source), path.read_text()) for path in paths])
    command = [*sys.argv[2:], "-std=c++20", "-fsyntax-only", f"-I{pathlib.Path(__file__).parent}", "-x", "c++", "-"]
    compiled = subprocess.run(command, input=unit, capture_output=True, text=True)
    print(compiled.stderr)
    print(f"{count} blocks in {len(paths)} pages: {'ok' if compiled.returncode == 0 else 'they do not compile'}")
    if count < FEWEST:
        sys.exit(f"fewer than {FEWEST} blocks: this test sees nothing")
    sys.exit(compiled.returncode)


main()
