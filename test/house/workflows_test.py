# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A step that is no call of a script is found, however it is written."""
import tempfile
import unittest
from pathlib import Path

from workflows import faults


class Workflows(unittest.TestCase):
    def found(self, step, hook="entry: scripts/format --check"):
        """What is found when a small tree has this step and this hook."""
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory).resolve()
            for name in ("scripts/test", "scripts/format", ".ci/run"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("#!/bin/sh\n")
                (root / name).chmod(0o755)
            (root / "scripts/notes").write_text("no program\n")
            (root / ".github/workflows").mkdir(parents=True)
            (root / ".github/workflows/ci.yml").write_text(f"jobs:\n  a:\n    steps:\n      {step}\n")
            (root / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: local\n    hooks:\n      - id: a\n        {hook}\n")
            return faults(root)[0]

    def test_scripts(self):
        for step in ("- run: .ci/run", "- run: scripts/test --smoke --preset clang", "- uses: actions/checkout@v4",
                     "- run: scripts/test --preset ${{ matrix.preset }}", "# run: make"):
            self.assertEqual(self.found(step), [], step)

    def test_something_else(self):
        for step in ("- run: cmake --preset dev", "- run: |", "- run: >-", "- run:", "- {run: make}", "- \"run\": make",
                     "- run: scripts/test && make", "- run: scripts/test; make", "- run: scripts/test $(make)",
                     "- run: scripts/test | tee log", "- run: bash scripts/test", "- run: scripts/test ${{ github.event.issue.title }}"):
            found = self.found(step)
            self.assertEqual(len(found), 1, step)
            self.assertIn("must be one call of scripts/NAME or .ci/run", found[0])

    def test_a_script_that_is_not_there(self):
        for step in ("- run: scripts/gone", "- run: scripts/notes"):
            self.assertIn("there is no program", self.found(step)[0])

    def test_actions_and_shells(self):
        self.assertIn("the action someone/build@v1", self.found("- uses: someone/build@v1")[0])
        self.assertIn("a shell", self.found("- shell: python")[0])

    def test_hooks(self):
        self.assertIn("entry: clang-format", self.found("- run: .ci/run", "entry: clang-format")[0])
        self.assertIn("only local ones", self.found("- run: .ci/run", "entry: scripts/test\n  - repo: https://example.org/hooks")[0])


if __name__ == "__main__":
    unittest.main()
