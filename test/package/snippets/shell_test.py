# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""shell.py finds commands outside of blocks that are run, scripts and options that there are not, and commands that fail."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from shell import BLOCK, Block, Server, look, run_commands, run_permissions

SOURCE = Path(sys.argv.pop(1)).resolve()
# does what it is asked to run, or fails as it is told
TOOL = """#!/bin/bash
echo "$@" >> "$(dirname "$0")/calls"
[[ " $* " != *" fail "* ]]
"""


class Look(unittest.TestCase):
    def found(self, text):
        """What is found in a page that is added to those that there are."""
        with tempfile.TemporaryDirectory() as root:
            root = Path(root)
            for folder in ("docs", "scripts", "bench"):
                shutil.copytree(SOURCE / folder, root / folder)
            for name in ("README.md", "CONTRIBUTING.md"):
                shutil.copy(SOURCE / name, root / name)
            (root / "test").mkdir()
            for script in re.findall(r"^test/\S+", "\n".join(block.text for block in look(SOURCE)[0]), re.M):
                (root / script).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / script, root / script)
            shutil.copytree(SOURCE / "test/simulation", root / "test/simulation")
            (root / "docs/page.md").write_text(text)
            return [re.sub(r"^docs/page.md:\d+: ", "", finding) for finding in look(root)[1]]

    def test_blocks_that_are_run_or_say_why_not(self):
        self.assertEqual(self.found("```sh\ntenure run\n```\n\n<!-- not run: takes long -->\n```sh\nscripts/test --full\n```\n"), [])

    def test_commands_in_other_blocks(self):
        expected = ["commands stand in blocks of the language sh"]
        self.assertEqual(self.found("Run\n\n    tenure run --size 3 -- ls\n"), expected)
        self.assertEqual(self.found("```text\nscripts/test\n```\n"), expected)
        self.assertEqual(self.found("```console\nscripts/test\n```\n"), ["a block of no language that is known: 'console'"])

    def test_scripts_and_options_that_there_are_not(self):
        self.assertEqual(self.found("<!-- not run: takes long -->\n```sh\nscripts/gone\nscripts/test --planted\n```\n"),
                         ["there is no scripts/gone", "scripts/test has no option --planted"])


@unittest.skipIf(shutil.which("redis-server") is None, "redis-server is not installed")
class Run(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.tool = Path(self.directory.name) / "tool"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.server = Server(self.directory.name)

    def tearDown(self):
        self.server.stop()
        self.directory.cleanup()

    def block(self, text):
        return Block("docs/page.md", text, BLOCK.search(text))

    def code(self, text):
        return run_commands(self.block(f"```sh\n{text}\n```"), self.server, str(self.tool), self.directory.name).returncode

    def test_commands(self):
        self.assertEqual(self.code("tenure run --store redis://127.0.0.1:6379\ntenure status --store redis://localhost"), 0)
        calls = (Path(self.directory.name) / "calls").read_text()
        self.assertEqual(calls, f"run --store redis://127.0.0.1:{self.server.port}\nstatus --store redis://127.0.0.1:{self.server.port}\n")

    def test_a_command_that_fails(self):
        self.assertNotEqual(self.code("tenure fail \ntenure run"), 0)
        self.assertNotEqual(self.code("gone"), 0)

    def test_permissions_that_do_not_suffice(self):
        block = self.block("```redis\nACL SETUSER w on >PASSWORD -@all +planted\n```")
        self.assertIn("Unknown command", run_permissions(block, self.server, str(self.tool)).stdout)


if __name__ == "__main__":
    unittest.main()
