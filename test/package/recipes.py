#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""packaging/ fits the tree: the vcpkg port has a manifest of documented fields, names options that exist, and depends on each
Boost library whose headers are included; the Debian changelog begins with the project's version.

    recipes.py SOURCE
"""
import json
import re
import sys
from pathlib import Path

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERSION = re.compile(r"\d+(\.\d+)*")
TEXT = (str, list)
# what a port's manifest may have, and the type of each
FIELDS = {"name": str, "version": str, "port-version": int, "description": TEXT, "homepage": str, "documentation": str,
          "license": str, "maintainers": TEXT, "supports": str, "dependencies": list, "default-features": list, "features": dict}
FEATURE_FIELDS = {"description": TEXT, "dependencies": list, "supports": str, "license": str}
DEPENDENCY_FIELDS = {"name": str, "default-features": bool, "features": list, "host": bool, "platform": str, "version>=": str}
# the functions that a port calls, and the port that has them
FUNCTIONS = {"vcpkg_download_distfile": None, "vcpkg_extract_source_archive": None, "vcpkg_check_features": None,
             "vcpkg_fixup_pkgconfig": None, "vcpkg_copy_tools": None, "vcpkg_install_copyright": None,
             "vcpkg_cmake_configure": "vcpkg-cmake", "vcpkg_cmake_install": "vcpkg-cmake",
             "vcpkg_cmake_config_fixup": "vcpkg-cmake-config"}
BOOST = re.compile(r"^\s*#\s*include\s*<boost/([a-z0-9_]+)[/.]", re.M)


def check_fields(what, value, fields):
    for key, content in value.items():
        if key not in fields:
            yield f"{what}: vcpkg knows no field {key}"
        elif not isinstance(content, fields[key]):
            yield f"{what}: {key} is a {type(content).__name__}"


def names_of(dependencies):
    return {one if isinstance(one, str) else one.get("name", "") for one in dependencies}


def check_dependencies(what, dependencies):
    for one in dependencies:
        if isinstance(one, dict):
            yield from check_fields(what, one, DEPENDENCY_FIELDS)
        name = one if isinstance(one, str) else one.get("name", "")
        if not NAME.fullmatch(name):
            yield f"{what}: {name!r} is no name of a port"


def check_manifest(manifest):
    yield from check_fields("vcpkg.json", manifest, FIELDS)
    for key in ("name", "version", "description", "license", "dependencies"):
        if key not in manifest:
            yield f"vcpkg.json: no {key}"
    if not NAME.fullmatch(manifest.get("name", "")):
        yield "vcpkg.json: the name is no name of a port"
    if manifest.get("version") != "@VERSION@" and not VERSION.fullmatch(manifest.get("version", "")):
        yield "vcpkg.json: the version is none of numbers and dots"
    yield from check_dependencies("vcpkg.json", manifest.get("dependencies", []))
    features = manifest.get("features", {})
    for name, feature in features.items():
        what = f"vcpkg.json, feature {name}"
        yield from check_fields(what, feature, FEATURE_FIELDS)
        if not NAME.fullmatch(name) or "description" not in feature:
            yield f"{what}: it needs a name like a port's, and a description"
        yield from check_dependencies(what, feature.get("dependencies", []))
    for name in manifest.get("default-features", []):
        if name not in features:
            yield f"vcpkg.json: the default feature {name} is no feature"


def check_portfile(text, manifest, options):
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    host = {one["name"] for one in manifest.get("dependencies", []) if isinstance(one, dict) and one.get("host")}
    for function in re.findall(r"^\s*(vcpkg_\w+)\(", text, re.M):
        if function not in FUNCTIONS:
            yield f"portfile.cmake: vcpkg has no function {function}"
        elif FUNCTIONS[function] and FUNCTIONS[function] not in host:
            yield f"portfile.cmake: {function} needs {FUNCTIONS[function]} as a host dependency"
    checked = re.search(r"vcpkg_check_features\(.*?FEATURES\s+(.*?)\)", text, re.S)
    pairs = checked.group(1).split() if checked else []
    if set(pairs[::2]) != set(manifest.get("features", {})):
        yield "portfile.cmake: vcpkg_check_features and the manifest have different features"
    for option in pairs[1::2] + re.findall(r"-D(TENURE_\w+)=", text):
        if option not in options:
            yield f"portfile.cmake: the project has no option {option}"


def included(root, folder, but=()):
    """The Boost libraries, named like vcpkg's ports, that a folder's files include, but for those of some folders in it."""
    found = set()
    for path in (root / folder).rglob("*.?pp"):
        if not any(root / one in path.parents for one in but):
            found |= {"boost-" + name.replace("_", "-") for name in BOOST.findall(path.read_text(encoding="utf-8"))}
    return found


def check_boost(root, manifest):
    always = names_of(manifest.get("dependencies", []))
    features = {name: names_of(feature.get("dependencies", [])) for name, feature in manifest.get("features", {}).items()}
    optional = {"lib/store/etcd": "etcd", "lib/store/postgresql": "postgresql", "tools": "tool"}
    for folder in ("include", "lib", *optional):
        more = features.get(optional.get(folder), set())
        for missing in sorted(included(root, folder, [one for one in optional if one != folder]) - always - more):
            yield f"vcpkg.json: {folder}/ includes headers of {missing}, which is no dependency"


def check_consumer(root, port, version):
    """The project to copy names a feature that the port has, and the version of the library."""
    worker = root / "examples/worker"
    if not worker.is_dir():
        return
    for one in json.loads((worker / "vcpkg.json").read_text(encoding="utf-8"))["dependencies"]:
        if one["name"] != port["name"]:
            yield f"examples/worker/vcpkg.json: there is no port {one['name']}"
        for feature in one["features"]:
            if feature not in port["features"]:
                yield f"examples/worker/vcpkg.json: the port has no feature {feature}"
    if f"tenure/{version}\n" not in (worker / "conanfile.txt").read_text(encoding="utf-8"):
        yield f"examples/worker/conanfile.txt does not name version {version}"


def faults(root):
    port = root / "packaging/vcpkg/ports/tenure"
    manifest = json.loads((port / "vcpkg.json").read_text(encoding="utf-8"))
    lists = [root / "CMakeLists.txt", *sorted((root / "cmake").glob("*.cmake"))]
    declared = "".join(path.read_text(encoding="utf-8") for path in lists)
    options = set(re.findall(r"option\(\s*(TENURE_\w+)|set\((TENURE_\w+)[^)]*CACHE", declared))
    options = {name for pair in options for name in pair if name}
    findings = [*check_manifest(manifest), *check_portfile((port / "portfile.cmake").read_text(encoding="utf-8"), manifest, options),
                *check_boost(root, manifest)]
    version = re.search(r"project\(tenure VERSION ([0-9.]+)", declared).group(1)
    findings += check_consumer(root, manifest, version)
    changelog = (root / "packaging/debian/changelog").read_text(encoding="utf-8")
    if not changelog.startswith(f"tenure ({version}-"):
        findings.append(f"packaging/debian/changelog does not begin with version {version}")
    return findings


def main():
    findings = faults(Path(sys.argv[1]).resolve())
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
