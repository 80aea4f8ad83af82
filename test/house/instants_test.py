# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A shell of a machine that compares instants is found, other comparisons are not."""
import tempfile
import unittest
from pathlib import Path

from instants import ALLOWED, SHELLS, violations

HEADER = "class Queue {\n    Instant give_up_at_{};\n    std::optional<Instant> freed_at_;\n    unsigned failed_ = 0;\n};\n"


class Instants(unittest.TestCase):
    def found(self, line, left_out=None):
        """The violations of a small lib/ whose release queue has this line and nothing of what is allowed is missing."""
        with tempfile.TemporaryDirectory() as root:
            engine = Path(root) / "lib" / "engine"
            (engine / "machines").mkdir(parents=True)
            (engine / "machines" / "a_machine.hpp").write_text("struct Step {\n    Instant wake_at;\n};\n")
            for name in SHELLS:
                (engine / f"{name}.hpp").write_text("Instant when;\nInstant wakes_at_;\n" if name == "acquisition" else HEADER)
                lines = [text for file, text in ALLOWED if file == f"{name}.cpp" and text != left_out]
                (engine / f"{name}.cpp").write_text("".join(f"    {text}\n" for text in lines))
            (engine / "release_queue.cpp").write_text(f"void f()\n{{\n    auto const now = runtime_->now();\n    {line}\n}}\n")
            return violations(Path(root))

    def refused(self, line):
        found = self.found(line)
        self.assertEqual(len(found), 1, found)
        self.assertIn("release_queue.cpp:4", found[0])

    def test_compared(self):
        self.refused("if (now >= pending->give_up_at_) {")
        self.refused("return runtime_->now() < until;")
        self.refused("if (freed_at_ && *freed_at_ <= asked)")
        self.refused("if (step.wake_at != Instant::max())")
        self.refused("if (claim->mark.progressed == Instant{})")

    def test_chosen(self):
        self.refused("ask_at(std::max(now, other));")
        self.refused("auto const first = std::min({when, give_up_at_});")

    def test_other(self):
        self.assertEqual(self.found("if (failed_ > 3)"), [])
        self.assertEqual(self.found("auto const pause = std::min(failed_, most);"), [])
        self.assertEqual(self.found("std::optional<Instant> later = give_up_at_;"), [])
        self.assertEqual(self.found("carry_out(machine.tick(now), now); // now < give_up_at_"), [])
        self.assertEqual(self.found('log("now < give_up_at_");'), [])

    def test_allowed_line_that_is_gone(self):
        line = next(iter(ALLOWED))[1]
        found = self.found("return;", left_out=line)
        self.assertEqual(len(found), 1, found)
        self.assertIn(line, found[0])


if __name__ == "__main__":
    unittest.main()
