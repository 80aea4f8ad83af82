#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""What plant.py plants, and what it refuses to plant."""
import pathlib
import tempfile
import unittest

import plant

SOURCE = """int f(int x)
{
    if (x > 3)
        return 1;
    x += 2;
    g(x);
    return x > 3;
}
"""


class Planting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / "f.cpp").write_text(SOURCE)
        (self.folder / "lib" / "g.hpp").write_text("void g(int);\n")

    def plant(self, *entries):
        path = self.folder / "engine.mutants"
        path.write_text("\n".join(entries))
        plant.main([str(self.folder / "lib"), str(path), "--into", str(self.folder / "planted")])
        return (self.folder / "planted" / "lib" / "f.cpp").read_text()

    def refuses(self, words, *entries):
        with self.assertRaises(plant.Mistake) as caught:
            self.plant(*entries)
        self.assertIn(words, str(caught.exception))

    def test_statements_are_replaced(self):
        text = self.plant("mutant a\nbreaks S1\nin f.cpp\nstatements\n-    x += 2;\n-    g(x);\n+    g(x);")
        self.assertIn(
            "if (::tenure::mutants::active(1)) {\n    g(x);\n} else {\n    x += 2;\n    g(x);\n}\n    return", text)

    def test_an_expression_is_replaced(self):
        text = self.plant("mutant a\nbreaks S1\nin f.cpp\nexpression\n- x += 2\n+ x += 3")
        self.assertIn("    (::tenure::mutants::active(1) ? (x += 3) : (x += 2));\n", text)

    def test_a_line_comes_before_another(self):
        text = self.plant("mutant a\nbreaks S1\nin f.cpp\nbefore\n-    g(x);\n+    return 7;")
        self.assertIn("if (::tenure::mutants::active(1)) {\n    return 7;\n}\n    g(x);\n", text)

    def test_two_bugs_share_a_place(self):
        one = "mutant {}\nbreaks S1\nin f.cpp\nstatements\n-    g(x);\n+    {}\n"
        text = self.plant(one.format("a", "h();"), one.format("b", "i();"))
        for part in ("active(1)) {\n    h();", "active(2)) {\n    i();"):
            self.assertIn(part, text)
        self.assertEqual(text.count("g(x);"), 1)
        names = (self.folder / "planted" / "mutants.cpp").read_text()
        self.assertIn('{"a", "engine", "S1"},\n    {"b", "engine", "S1"},', names)

    def test_files_without_bugs_are_copied_and_stale_ones_removed(self):
        entry = "mutant a\nbreaks S1\nin f.cpp\nstatements\n-    g(x);\n+    h();"
        stale = self.folder / "planted" / "lib" / "old.hpp"
        stale.parent.mkdir(parents=True)
        stale.write_text("")
        self.plant(entry)
        self.assertFalse(stale.exists())
        copy = self.folder / "planted" / "lib" / "g.hpp"
        self.assertEqual(copy.read_text(), "void g(int);\n")
        written = copy.stat().st_mtime_ns
        self.plant(entry)
        self.assertEqual(copy.stat().st_mtime_ns, written)

    def test_an_original_that_is_gone_is_refused(self):
        self.refuses("found 0 times in lib/f.cpp", "mutant a\nbreaks S1\nin f.cpp\nstatements\n-    x += 1;\n+    g(x);")

    def test_an_original_that_is_there_twice_is_refused(self):
        self.refuses("found 2 times in lib/f.cpp", "mutant a\nbreaks S1\nin f.cpp\nexpression\n- x > 3\n+ true")

    def test_originals_that_overlap_are_refused(self):
        self.refuses(
            "overlaps", "mutant a\nbreaks S1\nin f.cpp\nstatements\n-    x += 2;\n-    g(x);\n+    g(x);\n",
            "mutant b\nbreaks S1\nin f.cpp\nstatements\n-    g(x);\n-    return x > 3;\n+    return 1;")

    def test_incomplete_entries_are_refused(self):
        self.refuses("there is no lib/h.cpp", "mutant a\nbreaks S1\nin h.cpp\nstatements\n-x\n+y")
        self.refuses("does not say which rules", "mutant a\nin f.cpp\nstatements\n-    g(x);\n+    h();")
        self.refuses("changes nothing", "mutant a\nbreaks S1")
        self.refuses("needs one of", "mutant a\nbreaks S1\nin f.cpp\n-    g(x);\n+    h();")
        self.refuses("unexpected line", "mutant a\nbreaks S1\nin f.cpp\nstatements\n-    g(x);\nh();")
        self.refuses("two bugs", *["mutant a\nbreaks S1\nin f.cpp\nstatements\n-    g(x);\n+    h();\n"] * 2)


if __name__ == "__main__":
    unittest.main()
