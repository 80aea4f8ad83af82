#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A public header that lacks an include is found, and the others are not."""
import tempfile
import unittest
from pathlib import Path

import headers


class Headers(unittest.TestCase):
    def found(self, **texts):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "include/tenure").mkdir(parents=True)
            for name, text in texts.items():
                (Path(folder) / f"include/tenure/{name}.hpp").write_text(text)
            return headers.check(Path(folder))

    def test_finds_a_type_of_a_header_that_is_not_included(self):
        user = "struct User {\n    Config config;\n};\n"
        self.assertEqual(self.found(config="struct Config {\n};\n", user=user), ["tenure/user.hpp: Config"])

    def test_accepts_what_comes_by_another_header_or_is_declared_or_only_spoken_of(self):
        config = "class [[nodiscard]] TENURE_API Config\n{\n};\n"
        between = "#include <tenure/config.hpp>\n"
        includes = "#include <tenure/between.hpp>\nstruct User {\n    Config config;\n};\n"
        declares = "class Config;\nvoid use(Config const& config);\n"
        speaks = "/** As Config. */\nvoid speak(); // of a Config\n"
        self.assertEqual(
            self.found(config=config, between=between, includes=includes, declares=declares, speaks=speaks), [])


if __name__ == "__main__":
    unittest.main()
