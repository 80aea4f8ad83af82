# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""messages.py finds an error or a log line that the page lacks, and one that the sources no longer have."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from messages import PAGE, Expression, check

SOURCE = Path(sys.argv.pop(1)).resolve()


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.root = Path(cls.directory.name)
        for folder in ("lib", "tools", "test", "docs"):
            shutil.copytree(SOURCE / folder, cls.root / folder)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def change(self, name, old, new):
        """Until the end of the test."""
        text = (self.root / name).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.addCleanup((self.root / name).write_text, text, encoding="utf-8")
        (self.root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    def assert_found(self, *words):
        findings = check(self.root)
        self.assertTrue(findings)
        for word in words:
            self.assertTrue(any(word in finding for finding in findings), findings)

    def test_a_page_that_has_all(self):
        self.assertEqual(check(self.root), [])

    def test_a_new_log_line(self):
        self.change("lib/engine/core.cpp", "    store_log_.log(", '    store_log_.log(LogLevel::info, "a planted line about " + what);\n    store_log_.log(')
        self.assert_found("lacks the line `a planted line about ...`")

    def test_a_new_line_of_the_program(self):
        self.change("tools/tenure/elect/elect_command.cpp", "            report_.say(",
                    '            report_.say(late ? "planted late" : "planted early");\n            report_.say(')
        self.assert_found("`planted late`", "`planted early`")

    def test_a_log_line_that_is_gone(self):
        self.change("lib/engine/lease_lines.cpp", '" is renewed again"', '" is fine"')
        self.assert_found("no source logs `lease on KEY is renewed again`", "lacks the line `lease on ... is fine`")

    def test_a_new_error(self):
        self.change("lib/api/errc.cpp", "    case errc::closed:\n        return \"", '    case errc::planted:\n        return "planted";\n    case errc::closed:\n        return "')
        self.change("lib/api/errc.cpp", "    case errc::closed:\n    case", "    case errc::planted:\n    case errc::closed:\n    case")
        self.assert_found("lacks the error `planted`")

    def test_an_error_with_another_message_or_condition(self):
        self.change("lib/api/errc.cpp", '"the store was closed"', '"the store was shut"')
        self.change(PAGE, "`try_later` |", "`misconfigured` |")
        self.assert_found("`closed` is `the store was shut`", "`timed_out` is")

    def test_an_error_that_is_gone(self):
        self.change(PAGE, "| `closed` |", "| `gone` | `it is gone` | | |\n| `closed` |")
        self.assert_found("has the error `gone`")

    def test_a_message_that_is_gone(self):
        self.change(PAGE, "| size of a pool |", "| planted | `LockConfig::planted is N: a rule that no source has` |\n| size of a pool |")
        self.assert_found("a rule that no source has")

    def test_expressions(self):
        self.assertEqual(Expression('"a " "b " + f(x ? "c" : "d") + " e"').alternatives(), {"a b \0 e"})
        self.assertEqual(Expression('(late ? "a" : b + "c:d") + "?"').alternatives(), {"a?", "\0c:d?"})


if __name__ == "__main__":
    unittest.main()
