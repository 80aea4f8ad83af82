# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Makes a site of docs/, whose pages are written to be read in the repository.

The navigation is what docs/README.md lists. A link that leaves docs/ leads to a page of the site as well: a Markdown file of the
project becomes a page, a source is shown, and a folder is listed.
"""
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"^(```|~~~~).*?^\1|`[^`\n]*`", re.S | re.M)
SECTION = re.compile(r"^## (.+)$", re.M)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".txt": "cmake", ".cmake": "cmake", ".py": "python"}
ELSEWHERE = ("http://", "https://", "mailto:", "#")


def outside_code(text):
    """The links of a page, as matches; none of those that stand in code."""
    hidden = [code.span() for code in CODE.finditer(text)]
    return [link for link in LINK.finditer(text)
            if not any(begin <= link.start() < end for begin, end in hidden) and not link.group(2).startswith(ELSEWHERE)]


def target_of(page, link):
    """The path in the repository that a link of a file leads to, and its anchor."""
    path, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def place_on_site(path):
    """The page of the site, as Markdown, for a path of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(".md"):
        return "project/" + path
    if (ROOT / path).is_dir():
        return f"source/{path}/index.md"
    return f"source/{path}.md"


def text_of(path):
    """The Markdown of a page that is made of a file or folder outside of docs/."""
    file = ROOT / path
    if path.endswith(".md"):
        return file.read_text(encoding="utf-8")
    if file.is_dir():
        names = sorted(entry for entry in file.rglob("*") if entry.is_file())
        return f"# {path}\n\n" + "".join(
            f"- [{name.relative_to(file).as_posix()}]({name.relative_to(file).as_posix()})\n" for name in names)
    language = LANGUAGES.get(file.suffix, "text")
    return f"# {path}\n\n~~~~{language}\n{file.read_text(encoding='utf-8')}\n~~~~\n"


def moved(text, page, place):
    """The text of a page with links that hold on the site."""
    for link in reversed(outside_code(text)):
        target, anchor = target_of(page, link.group(2))
        there = posixpath.relpath(place_on_site(target), posixpath.dirname(place) or ".")
        text = text[:link.start(2)] + there + ("#" + anchor if anchor else "") + text[link.end(2):]
    # In a table GitHub wants the bars of code escaped, and this Markdown does not. Messages stand under each other.
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("|"):
            line = re.sub(r"`[^`]*`", lambda code: code.group(0).replace("\\|", "|"), line)
            lines[number] = line.replace("` `", "`<br>`")
    return "\n".join(lines)


def version():
    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(\s*tenure VERSION ([0-9.]+)", project)[1]


def on_config(config):
    # in the footer of each page, as in that of the reference
    config.copyright = f"tenure {version()}"
    config.site_name = f"tenure {version()}"
    start = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    parts = SECTION.split(start)
    nav = [{"Start": "README.md"}]
    for title, text in zip(parts[1::2], parts[2::2]):
        pages = [place_on_site(target_of("docs/README.md", link.group(2))[0]) for link in outside_code(text)]
        nav.append({title: list(dict.fromkeys(page for page in pages if page.endswith(".md")))})
    config.nav = nav
    return config


def on_files(files, config):
    files.append(File.generated(config, "assets/site.css", content=(ROOT / "site/site.css").read_text(encoding="utf-8")))
    known = set()
    wanted = [(f"docs/{file.src_uri}", Path(file.abs_src_path).read_text(encoding="utf-8")) for file in files.documentation_pages()]
    while wanted:
        page, text = wanted.pop()
        for link in outside_code(text):
            target, _ = target_of(page, link.group(2))
            if target.startswith("docs/") or target in known or not (ROOT / target).exists():
                continue
            known.add(target)
            inner = text_of(target)
            place = place_on_site(target)
            files.append(File.generated(config, place, content=moved(inner, page_of(target), place)))
            wanted.append((page_of(target), inner))
    return files


def page_of(target):
    """The file whose folder the links of a generated page start from."""
    return f"{target}/index" if (ROOT / target).is_dir() else target


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by is not None:
        return markdown
    if page.file.src_uri == "README.md":
        # the picture gets the room of the list of pages, which the page itself has
        page.meta["hide"] = ["navigation", "toc"]
    return moved(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def on_nav(nav, config, files):
    reference = Link("API reference", "api/index.html")
    for item in nav.items:
        if item.is_section and item.title == "For users":
            reference.parent = item
            item.children.append(reference)
    return nav
