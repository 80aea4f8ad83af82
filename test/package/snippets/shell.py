#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Runs the shell commands of README.md, CONTRIBUTING.md and docs/.

    shell.py SOURCE                    looks only: each block is run by a test, or says why not
    shell.py SOURCE BUILD CTEST        runs the blocks, with the tool of this build and a redis-server of its own

Commands stand in blocks `sh`. A comment before a block says why no test runs it:

    <!-- not run: needs three machines -->

test/package/fresh_machine runs the pages of FRESH, on an empty machine. Here all other blocks are run, and those of FRESH that only
use the tool. Of blocks that are not run, scripts and options must exist, and patterns of ctest must name a test. The permissions of
docs/integrators/redis-protocol.md (`redis` blocks) are given to a user, who then holds a slot. Exit code 4: skipped.
"""
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FRESH = ("README.md", "docs/users/install.md", "docs/contributors/building.md")
LANGUAGES = {"cpp", "cmake", "ini", "json", "python", "redis", "sh", "sql", "text"}
BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)
INDENTED = re.compile(r"\n\n((?: {4}[^\n]*\n)+)")
COMMAND = re.compile(r"^ *(\$ |export |tenure (run|elect|status|list|leader|doctor|evict|exporter|demo)(?= |$)|scripts/|build/|cmake |ctest |[A-Z_]+=\S+ \w)")
FEWEST = 12
# what a page takes for granted before its commands
BEFORE = {
    "docs/users/tutorial.md": 'rm -f held; "$TENURE" run --store file: --pool worker: --size 3 -- sh -c "touch held; sleep 60" > holder.log 2>&1 &\n'
                              'until [ -e held ]; do sleep 0.05; done\n',
}
PRELUDE = r"""
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
tenure() {
    local code=0
    case " $* " in
        # the user ends it
        *" --watch "*) timeout --signal=INT 2 "$TENURE" "$@" || code=$?; if [ $code = 124 ] || [ $code = 130 ]; then code=0; fi ;;
        # it holds its shards until a signal
        " run --shards "*)
            timeout 4 "$TENURE" "$@" 2> shards.log || code=$?
            cat shards.log >&2
            if [ $code = 124 ] && ! grep -q 'exit code' shards.log; then code=0; fi ;;
        # it warns of the settings that a server comes with
        " doctor "*) "$TENURE" "$@" || code=$?; if [ $code = 1 ]; then code=0; fi ;;
        *) "$TENURE" "$@" || code=$? ;;
    esac
    return $code
}
"""
# the commands that the pages hold leases for: each needs what the tool is to give it
PROGRAMS = {
    "worker": '[ -n "${TENURE_SLOT:-$TENURE_KEY}" ]', "report": '[ "$TENURE_KEY" != "" ]', "scheduler": '[ "$TENURE_ELECTION" = scheduler ]',
    "settle": '[ $# = 0 ] || { [ "$2" -gt 0 ] && [ "$4" -gt 0 ]; }', "backup": '[ "$TENURE_KEY" = nightly ]', "work": '[ -n "$2" ]',
    "consume": '[ "${2:-$TENURE_SHARD}" = "$TENURE_SHARD" ]',
}


class Block:
    def __init__(self, page, text, match):
        self.page = page
        self.line = text.count("\n", 0, match.start("text"))
        self.language, self.text, self.reason = match["language"], match["text"], match["reason"]

    def place(self):
        return f"{self.page}:{self.line}"

    def lines(self):
        return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in self.text.split("\n")) if line]

    def is_fresh(self):
        return self.page in FRESH

    def uses_the_tool_only(self):
        return all(line.startswith("tenure ") for line in self.lines())


def pages(source):
    for path in [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]:
        yield path.relative_to(source).as_posix(), path.read_text(encoding="utf-8")


def look(source):
    """All blocks of commands, and what is wrong with blocks."""
    blocks, findings = [], []
    for page, text in pages(source):
        for match in BLOCK.finditer(text):
            block = Block(page, text, match)
            if block.language not in LANGUAGES:
                findings.append(f"{block.place()}: a block of no language that is known: '{block.language}'")
            if block.language in ("sh", "redis"):
                blocks.append(block)
            elif block.reason:
                findings.append(f"{block.place()}: only commands can say why they are not run")
            if block.language == "text" and COMMAND.match(block.text) and not re.match(r" *tenure [a-z]+[^\n]*[(\[|]", block.text):
                findings.append(f"{block.place()}: commands stand in blocks of the language sh")
        plain = BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
        for match in INDENTED.finditer(plain):
            if COMMAND.match(match[1]):
                findings.append(f"{page}:{plain.count(chr(10), 0, match.start(1)) + 1}: commands stand in blocks of the language sh")
    for block in blocks:
        for line in block.lines():
            if block.reason or block.is_fresh():
                findings += [f"{block.place()}: {problem}" for problem in unknown(source, line)]
    if len(blocks) < FEWEST:
        findings.append(f"fewer than {FEWEST} blocks: this test sees nothing")
    return blocks, findings


def unknown(source, line):
    """The script of a line that there is not, and its options that no script or program reads."""
    words = [word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word)]
    if not words or not words[0].startswith(("scripts/", "test/")):
        return
    script = source / words[0]
    if not script.is_file():
        yield f"there is no {words[0]}"
        return
    texts = [path.read_text(encoding="utf-8") for path in [script, *(source / "scripts").glob("*.py"), *(source / "test").rglob("*.cpp"),
                                                           *(source / "bench").rglob("*.cpp")]]
    for word in words[1:words.index("--") if "--" in words else None]:
        if word.startswith("--") and not any(word in text for text in texts):
            yield f"{words[0]} has no option {word}"


def check_patterns(blocks, build, ctest):
    """The patterns of ctest in lines that are not run: each has to name a test, or a program that this build does not have."""
    not_built = re.findall(r"tenure_(\w+)_NOT_BUILT", subprocess.run([ctest, "--test-dir", build, "-N"], capture_output=True, text=True).stdout)
    for block in blocks:
        for line in block.lines():
            if not block.reason or "ctest" not in line and not line.startswith("scripts/test"):
                continue
            words = shlex.split(line)
            for option, pattern in zip(words, words[1:]):
                if option not in ("-R", "-L"):
                    continue
                listed = subprocess.run([ctest, "--test-dir", build, "-N", option, pattern], capture_output=True, text=True).stdout
                program = "_".join(re.findall(r"\w+", pattern))
                if not re.search(r"Total Tests: [1-9]", listed) and not any(name.startswith(program) for name in not_built):
                    yield f"{block.place()}: no test for {option} '{pattern}'"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    def __init__(self, directory):
        self.port = free_port()
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                                        stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while self.call("ping") != "PONG":
            if time.monotonic() > until:
                raise RuntimeError("redis-server does not answer")
            time.sleep(0.05)

    def call(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True).stdout.strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run_commands(block, server, tenure, directory):
    url = f"redis://127.0.0.1:{server.port}"
    text = re.sub(r"redis://(127\.0\.0\.1:6379|localhost\b(:6379)?)", url, BEFORE.get(block.page, "") + block.text)
    # not the user's own directory, where other programs may hold the same keys
    text = re.sub(r"--store file:(?!/)", f"--store file://{directory}", text)
    environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "TENURE": tenure, "TENURE_STORE": url, "PORT": str(server.port)}
    # timeout also ends what the commands have started
    return subprocess.run(["timeout", "60", "bash", "-c", PRELUDE + text], cwd=directory, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run_permissions(block, server, tenure):
    """Gives the permissions to a user, who then holds a slot."""
    for line in block.lines():
        answer = server.call(*line.replace("PASSWORD", "secret").replace("~P*", "~leases:*").split())
        if answer != "OK":
            return subprocess.CompletedProcess(line, 1, f"{line}\n{answer}\n")
    name = block.text.split()[2]
    url = f"redis://{name}:secret@127.0.0.1:{server.port}"
    return subprocess.run([tenure, "run", "--store", url, "--pool", "leases:", "--size", "2", "--", "true"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


def main():
    source = Path(sys.argv[1]).resolve()
    blocks, findings = look(source)
    if len(sys.argv) == 2:
        not_run = [block for block in blocks if block.reason]
        print("\n".join([*findings, *(f"not run: {block.place()}: {block.reason}" for block in not_run),
                         f"{len(blocks)} blocks of commands, {len(not_run)} of them not run, {len(findings)} findings"]))
        sys.exit(1 if findings else 0)
    build, ctest = Path(sys.argv[2]).resolve(), sys.argv[3]
    tenure = build / "tools/tenure/tenure"
    for needed, reason in ((shutil.which("redis-server"), "redis-server is not installed"), (tenure.is_file(), "the tool is not built")):
        if not needed:
            print("skipped: " + reason)
            sys.exit(4)
    findings = list(check_patterns(blocks, build, ctest))
    ran = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, body in PROGRAMS.items():
            (Path(directory) / name).write_text("#!/bin/bash\n" + body + "\n")
            (Path(directory) / name).chmod(0o755)
        server = Server(directory)
        try:
            for block in blocks:
                if block.reason or block.is_fresh() and not block.uses_the_tool_only():
                    continue
                server.call("flushall")
                ran += 1
                done = run_permissions(block, server, str(tenure)) if block.language == "redis" else run_commands(block, server, str(tenure), directory)
                print(f"== {block.place()}\n{done.stdout}", end="")
                if done.returncode != 0:
                    findings.append(f"{block.place()}: exit code {done.returncode}:\n{block.text}{done.stdout}")
        finally:
            server.stop()
    print("\n".join([*findings, f"{ran} blocks ran, {len(findings)} findings"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
