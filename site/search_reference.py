#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Adds the pages of the reference to the index of the site's search: classes, functions and types, with their first words.

    search_reference.py SITE XML      SITE has the site with the reference in api/, XML what Doxygen wrote as XML
"""
import json
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

KINDS = {"class", "struct", "namespace", "concept"}
# characters of a description; the search shows the begin of it
LONGEST = 600


def words(node):
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def description(node):
    text = words(node.find("briefdescription")) + " " + words(node.find("detaileddescription"))
    return text.strip()[:LONGEST]


def place_of(member):
    """The page and place of a member, whose identifier has both: page_1place."""
    page, _, place = member.get("id").rpartition("_1")
    return f"api/{page}.html#{place}"


def entries(compound):
    if compound.get("kind") not in KINDS or compound.get("prot", "public") != "public":
        return
    name = compound.findtext("compoundname")
    page = f"api/{compound.get('id')}.html"
    yield {"location": page, "title": name, "text": description(compound)}
    seen = set()
    for member in compound.iter("memberdef"):
        title = member.findtext("name")
        # overloads are found by the first of them
        if member.get("prot") != "public" or title in seen or title.startswith("~") or not member.get("id").startswith(compound.get("id")):
            continue
        seen.add(title)
        yield {"location": place_of(member), "title": title,
               "text": f"{name}::{title}{member.findtext('argsstring') or ''} {description(member)}"[:LONGEST]}


def main():
    site, xml = Path(sys.argv[1]), Path(sys.argv[2])
    index = site / "search/search_index.json"
    search = json.loads(index.read_text(encoding="utf-8"))
    search["docs"] = [entry for entry in search["docs"] if not entry["location"].startswith("api/")]
    pages = len(search["docs"])
    for file in sorted(xml.glob("*.xml")):
        for compound in tree.parse(file).getroot().findall("compounddef"):
            search["docs"] += [entry for entry in entries(compound) if (site / entry["location"].split("#")[0]).is_file()]
    added = len(search["docs"]) - pages
    index.write_text(json.dumps(search, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    print(f"search: {pages} entries of pages, {added} of the reference")
    if not any(entry["title"] == "async_acquire" for entry in search["docs"]):
        sys.exit("search_reference.py: async_acquire is not found")


if __name__ == "__main__":
    main()
