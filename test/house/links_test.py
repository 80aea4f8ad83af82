# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A link that leads nowhere is found, one that leads to a page, a heading or a file is not."""
import tempfile
import unittest
from pathlib import Path

from links import anchors, broken


class Links(unittest.TestCase):
    def found(self, text, name="README.md", index="[A page](users/page.md)\n"):
        """What is found when a small tree has a file with this text."""
        with tempfile.TemporaryDirectory() as root:
            for path, content in {"docs/README.md": index, "docs/users/page.md": "# Page\n\n## Its `one` heading: a/b\n",
                                  "lib/code.cpp": "// code\n", name: text}.items():
                (Path(root) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(root) / path).write_text(content)
            return broken(Path(root).resolve())[0]

    def test_links_that_lead_somewhere(self):
        self.assertEqual(self.found("[page](docs/users/page.md), [code](lib/code.cpp), [web](https://example.org/gone.md)\n"), [])
        self.assertEqual(self.found("# Here\n[there](docs/users/page.md#its-one-heading-ab) and [here](#here)\n"), [])
        self.assertEqual(self.found("see docs/users/page.md\n"), [])

    def test_links_that_lead_nowhere(self):
        # it is a link, and a name
        self.assertEqual(self.found("\n[page](docs/page.md)\n"), ["README.md:2: there is no docs/page.md"] * 2)
        self.assertEqual(self.found('<img src="lib/gone.svg">\n'), ["README.md:1: there is no lib/gone.svg"])
        self.assertEqual(self.found("[code](lib/gone.cpp)\n"), ["README.md:1: there is no lib/gone.cpp"])
        self.assertEqual(self.found("[x](docs/users/page.md#another)\n"),
                         ["README.md:1: docs/users/page.md has no heading for #another"])
        self.assertEqual(self.found("[x](#gone)\n"), ["README.md:1: README.md has no heading for #gone"])

    def test_code_holds_no_links(self):
        self.assertEqual(self.found("`[](tenure::Slot&)`\n```cpp\nauto f = [](int) {};\n```\n"), [])

    def test_a_page_that_a_comment_names(self):
        self.assertEqual(self.found("// see docs/gone.md\n", "lib/other.cpp"), ["lib/other.cpp:1: there is no docs/gone.md"])

    def test_a_page_that_the_index_forgets(self):
        self.assertEqual(self.found("# New\n", "docs/users/new.md"), ["docs/README.md does not list docs/users/new.md"])

    def test_headings_of_the_same_text(self):
        self.assertEqual(anchors("# A b\n## A b\n```\n# no heading\n```\n"), {"a-b", "a-b-1"})


if __name__ == "__main__":
    unittest.main()
