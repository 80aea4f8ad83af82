# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""site/check.py finds links that lead nowhere, pages that no link leads to, and what is loaded from another host."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "site"))
from check import check  # noqa: E402


class Site(unittest.TestCase):
    def found(self, start, page="<h1 id='here'>Page</h1>"):
        with tempfile.TemporaryDirectory() as root:
            root = Path(root).resolve()
            for path, text in {"site/index.html": start, "site/users/page.html": page, "site/api/index.html": "",
                               "docs/README.md": "", "docs/users/page.md": ""}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return check(root / "site", root / "docs")[0]

    ALL = '<a href="users/page.html">page</a> <a href="api/index.html">reference</a>'

    def test_links_that_hold(self):
        self.assertEqual(self.found(self.ALL + '<a href="users/page.html#here">place</a> <a href="https://example.org">web</a>'), [])

    def test_links_that_lead_nowhere(self):
        self.assertEqual(self.found(self.ALL + '<a href="gone.html">gone</a>'), ["index.html: there is no gone.html"])
        self.assertEqual(self.found(self.ALL + '<a href="users/page.html#gone">gone</a>'),
                         ["index.html: users/page.html#gone leads to no place on that page"])
        self.assertEqual(self.found(self.ALL + '<img src="gone.svg">'), ["index.html: there is no gone.svg"])

    def test_pages_that_no_link_leads_to(self):
        self.assertEqual(self.found('<a href="api/index.html">reference</a>'),
                         ["users/page.html cannot be reached from the start page"])
        self.assertEqual(self.found('<a href="users/page.html">page</a>'),
                         ["the API reference cannot be reached from the start page"])

    def test_what_is_loaded_from_elsewhere(self):
        self.assertEqual(self.found(self.ALL + '<script src="https://example.org/a.js"></script>'),
                         ["index.html loads https://example.org/a.js"])
        self.assertEqual(self.found(self.ALL + '<link rel="stylesheet" href="https://example.org/a.css">'),
                         ["index.html loads https://example.org/a.css"])


if __name__ == "__main__":
    unittest.main()
