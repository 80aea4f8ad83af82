#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Checks that every include of lib/ points downward: layers.py [REPOSITORY]"""
import re
import sys
from pathlib import Path

# A folder of lib/ -> the other folders whose headers it may include. The longest name that fits a folder counts, and
# a name covers the folders below it. docs/contributors/design.md draws this table.
MAY_INCLUDE = {
    "runtime": [],
    "config": [],
    "net": ["runtime", "config"],
    "files": ["runtime"],
    "store": ["runtime", "config"],
    "store/file": ["runtime", "config", "files", "store"],
    "store/memory": ["runtime", "config", "store"],
    "store/redis": ["runtime", "config", "net", "store"],
    "store/redis/wire": ["runtime"],
    "store/redis/config": ["config", "net"],
    "store/redis/link": ["runtime", "config", "net", "store", "store/redis/config", "store/redis/wire"],
    "store/redis/scripts": ["runtime", "store/redis/link", "store/redis/wire"],
    "store/redis/redlock": ["runtime", "config", "net", "store", "store/redis"],
    "store/etcd": ["runtime", "config", "net", "store"],
    "store/etcd/http": ["runtime", "config", "net", "store"],
    "store/zookeeper": ["runtime", "config", "net", "store"],
    "store/zookeeper/client": ["runtime", "config", "net", "store"],
    "engine/machines": [],
    "engine": ["runtime", "engine/machines"],
    "locks": ["runtime", "store", "engine"],
    "testing": ["runtime", "store/memory"],
    "conformance": [],
    "opentelemetry": [],
    "prometheus": [],
    "api": ["runtime", "config", "net", "files", "store", "engine", "locks"],
}
# Public headers that only these folders may include: what users hold is made by the engine and above it.
USER_HEADERS = {"lock", "slot_pool", "slot", "lease", "cancel_on", "with_lease", "run", "acquirable", "acquirable_keys",
                "multi_lock", "lease_set", "segmented_lock", "reentrant_lock", "reentrant_lease", "holder", "election",
                "view", "shard_group", "tenure"}  # fmt: skip
MAKES_USER_OBJECTS = ("api", "engine", "locks", "testing", "conformance")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def below(folder, name):
    return folder == name or folder.startswith(name + "/")


def layer_of(folder):
    """The row of the table that counts for a folder, or None."""
    return max((name for name in MAY_INCLUDE if below(folder, name)), key=len, default=None)


def allowed(source, target):
    """Whether files in `source` may include headers of `target`, both folders of lib/."""
    layer = layer_of(source)
    if layer is None:
        return False
    if below(target, layer):
        return True
    # The longest name that fits the target decides: "store" alone does not open a single store.
    names = [name for name in MAY_INCLUDE[layer] if below(target, name)]
    if not names:
        return False
    return source == "api" or max(names, key=len) != "store" or target == "store"


def violations(repository):
    lib = repository / "lib"
    files = sorted([*lib.rglob("*.hpp"), *lib.rglob("*.cpp")])
    if not files:
        return [f"{lib}: there are no sources"]
    found = []
    for file in files:
        folder = file.parent.relative_to(lib).as_posix()
        for kind, name in INCLUDE.findall(file.read_text()):
            where = f"lib/{file.relative_to(lib)} includes {name}"
            if name.startswith("tenure/"):
                stem = name.removeprefix("tenure/").removesuffix(".hpp")
                if stem in USER_HEADERS and folder.split("/")[0] not in MAKES_USER_OBJECTS:
                    found.append(f"{where}: only the engine and what stands on it know what users hold")
                continue
            beside = [file.parent / name] if kind == '"' else []
            target = next((path for path in [*beside, lib / name] if path.is_file()), None)
            if target is None:
                if kind == '"':
                    found.append(f"{where}: there is no such header")
                continue
            target_folder = target.resolve().parent.relative_to(lib.resolve()).as_posix()
            if not allowed(folder, target_folder):
                found.append(f"{where}: {folder} may not include {target_folder}")
    return found


if __name__ == "__main__":
    wrong = violations(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(wrong) or "every include points downward")
    sys.exit(1 if wrong else 0)
