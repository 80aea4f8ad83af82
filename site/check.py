#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Checks a built site: every internal link leads to a page and a place on it, every page of docs/ can be reached from the start
page, and no page loads anything from another host.

    check.py SITE DOCS
"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser loads without being asked to
LOADED = {"script": ("src",), "img": ("src", "srcset"), "source": ("src", "srcset"), "iframe": ("src",), "link": ("href",)}
# links of the theme's scripts and of what machines read
UNLOADED_LINKS = {"canonical", "alternate"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.places = set()
        self.links = []
        self.loaded = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places.update(value for value in (values.get("id"), values.get("name") if tag == "a" else None) if value)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") in UNLOADED_LINKS:
            return
        self.loaded += [values[name] for name in LOADED.get(tag, ()) if values.get(name)]


def check(site, docs):
    """What is wrong, and how many links were looked at."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    findings = []
    seen = 0
    ways = {path: set() for path in pages}
    for path, page in pages.items():
        for link, loads in [(link, False) for link in page.links] + [(link, True) for link in page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if loads and parts.scheme != "data":
                    findings.append(f"{path.relative_to(site)} loads {link}")
                continue
            if path.name == "404.html":
                continue  # its links hold on a server only
            seen += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            place = unquote(parts.fragment)
            if not target.is_file():
                findings.append(f"{path.relative_to(site)}: there is no {link}")
            elif place and target in pages and place not in pages[target].places and path.parent.name != "api":
                # Doxygen links private classes and friends that it does not show
                findings.append(f"{path.relative_to(site)}: {link} leads to no place on that page")
            elif not loads:
                ways[path].add(target)
    reached = set()
    next_ones = [site / "index.html"]
    while next_ones:
        path = next_ones.pop()
        if path in ways and path not in reached:
            reached.add(path)
            next_ones += ways[path]
    for page in sorted(docs.rglob("*.md")):
        built = site / page.relative_to(docs).with_suffix(".html")
        if built.name == "README.html":
            built = built.with_name("index.html")
        if built not in reached:
            findings.append(f"{built.relative_to(site)} cannot be reached from the start page")
    if site / "api" / "index.html" not in reached:
        findings.append("the API reference cannot be reached from the start page")
    return findings, seen, len(pages)


def main():
    findings, seen, pages = check(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    print("\n".join([*findings, f"{pages} pages, {seen} internal links, {len(findings)} findings"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
