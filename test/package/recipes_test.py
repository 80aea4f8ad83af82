# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A fault in the vcpkg port or in the Debian changelog is found."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

from recipes import faults

SOURCE = Path(__file__).resolve().parents[2]


class Recipes(unittest.TestCase):
    def found(self, manifest=lambda manifest: None, portfile=("", ""), changelog=("", ""), header=""):
        """What is found in a small tree with the real port, after these changes."""
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            shutil.copytree(SOURCE / "packaging", root / "packaging")
            shutil.copytree(SOURCE / "cmake", root / "cmake")
            shutil.copy(SOURCE / "CMakeLists.txt", root)
            port = root / "packaging/vcpkg/ports/tenure"
            changed = json.loads((port / "vcpkg.json").read_text())
            manifest(changed)
            (port / "vcpkg.json").write_text(json.dumps(changed))
            for file, (old, new) in ((port / "portfile.cmake", portfile), (root / "packaging/debian/changelog", changelog)):
                text = file.read_text()
                self.assertIn(old, text)
                file.write_text(text.replace(old, new, 1))
            (root / "lib/engine").mkdir(parents=True)
            (root / "lib/engine/a.hpp").write_text(header)
            return faults(root)

    def one(self, why, **change):
        found = self.found(**change)
        self.assertEqual(len(found), 1, found)
        self.assertIn(why, found[0])

    def test_as_it_is(self):
        self.assertEqual(self.found(), [])

    def test_manifest(self):
        self.one("knows no field licence", manifest=lambda m: m.update(licence="BSL-1.0"))
        self.one("no license", manifest=lambda m: m.pop("license"))
        self.one("description is a int", manifest=lambda m: m.update(description=1))
        self.one("numbers and dots", manifest=lambda m: m.update(version="v1"))
        self.one("'Boost' is no name", manifest=lambda m: m["dependencies"].append("Boost"))
        self.one("knows no field versions", manifest=lambda m: m["dependencies"].append({"name": "a", "versions": "1"}))
        self.one("gone is no feature", manifest=lambda m: m["default-features"].append("gone"))
        self.one("different features", manifest=lambda m: m["features"].update(more={"description": "more"}))

    def test_portfile(self):
        self.one("no option TENURE_EXAMPLE", portfile=("TENURE_BUILD_EXAMPLES", "TENURE_EXAMPLE"))
        self.one("no function vcpkg_configure", portfile=("vcpkg_cmake_configure", "vcpkg_configure"))
        self.one("different features", portfile=("tls TENURE_TLS", ""))

    def test_boost(self):
        self.one("headers of boost-lockfree", header="#include <boost/lockfree/queue.hpp>\n")
        self.one("headers of boost-json", header="#include <boost/json.hpp>\n")
        self.assertEqual(self.found(header="#include <boost/asio.hpp>\n"), [])

    def test_debian(self):
        self.one("does not begin with version", changelog=("tenure (", "tenure (9."))


if __name__ == "__main__":
    unittest.main()
