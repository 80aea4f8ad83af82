# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""An include that points upward is found, one that points downward is not."""
import tempfile
import unittest
from pathlib import Path

from layers import violations


class Layers(unittest.TestCase):
    def found(self, file, include):
        """What is found when `file` includes `include` in a small lib/."""
        with tempfile.TemporaryDirectory() as root:
            lib = Path(root) / "lib"
            for header in ("engine/keeper.hpp", "runtime/strand.hpp", "store/not_written.hpp", "store/redis/link/route.hpp",
                           "store/redis/node.hpp", "store/etcd/node.hpp", "net/stream.hpp"):
                (lib / header).parent.mkdir(parents=True, exist_ok=True)
                (lib / header).write_text("#pragma once\n")
            (lib / file).parent.mkdir(parents=True, exist_ok=True)
            (lib / file).write_text(f"#include {include}\n")
            return violations(Path(root))

    def refused(self, file, include, why):
        found = self.found(file, include)
        self.assertEqual(len(found), 1, found)
        self.assertIn(why, found[0])

    def test_downward(self):
        self.assertEqual(self.found("store/redis/claim/by_set.cpp", '"store/redis/link/route.hpp"'), [])
        self.assertEqual(self.found("store/redis/cluster/slot.cpp", '"store/redis/node.hpp"'), [])
        self.assertEqual(self.found("engine/core.cpp", "<runtime/strand.hpp>"), [])
        self.assertEqual(self.found("store/etcd/claim.cpp", '"store/not_written.hpp"'), [])
        self.assertEqual(self.found("api/connect.cpp", '"store/etcd/node.hpp"'), [])
        self.assertEqual(self.found("engine/core.cpp", "<tenure/lease.hpp>"), [])

    def test_upward(self):
        self.refused("runtime/strand.cpp", '"engine/keeper.hpp"', "runtime may not include engine")
        self.refused("engine/core.cpp", '"store/redis/node.hpp"', "engine may not include store/redis")
        self.refused("engine/core.cpp", '"store/not_written.hpp"', "engine may not include store")
        self.refused("store/redis/node.cpp", '"engine/keeper.hpp"', "store/redis may not include engine")
        self.refused("store/redis/node.cpp", '"store/etcd/node.hpp"', "store/redis may not include store/etcd")
        self.refused("store/redis/link/route.cpp", '"store/redis/node.hpp"', "store/redis/link may not include store/redis")
        self.refused("net/stream.cpp", '"store/not_written.hpp"', "net may not include store")
        self.refused("locks/view.cpp", '"store/redis/node.hpp"', "locks may not include store/redis")

    def test_what_users_hold(self):
        self.refused("store/redis/claim/by_set.cpp", "<tenure/lease.hpp>", "only the engine")

    def test_unknown(self):
        self.refused("cellar/wine.cpp", '"engine/keeper.hpp"', "cellar may not include engine")
        self.refused("engine/core.cpp", '"keeper_of_keys.hpp"', "there is no such header")


if __name__ == "__main__":
    unittest.main()
