"""Builds the documentation site with mdBook and checks every link in it.

    python3 docs/site.py MDBOOK FOLDER

The pages are those of docs/. Pages of the repository's root that they link to go into a folder `project`, and links to source files become
plain text, because the site has no source code. The page of the studio is part of the site where `make studio` has made it, and the documentation of the crate where `make doc` has.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = {"CHANGELOG.md": "Changelog", "PAPERS.md": "Formulas of the papers", "ARCHITECTURE.md": "Architecture",
           "CONTRIBUTING.md": "Contributing", "ROADMAP.md": "Roadmap", "SECURITY.md": "Security", "CODE_OF_CONDUCT.md": "Code of conduct"}
BOOK = """[book]
title = "kernelet"
description = "Small, fast kernel machines"
language = "en"
src = "src"

[build]
build-dir = "html"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true
smart-punctuation = false

[output.html.search]
limit-results = 20
"""
STUDIO = ROOT / "target" / "studio" / "index.html"
RUSTDOC = ROOT / "target" / "doc"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def rewritten(text: str, place: pathlib.PurePosixPath) -> str:
    """The page with links that hold in the site; `place` is the page's path in the repository."""

    def link(match):
        name, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        there = pathlib.PurePosixPath(*parts(place.parent / path))
        if there.name in PROJECT and len(there.parts) == 1:
            goal = pathlib.PurePosixPath("project") / there.name
        elif there == pathlib.PurePosixPath("README.md"):
            goal = pathlib.PurePosixPath("index.md")
        elif there.parts[0] == "docs" and (ROOT / there).exists():
            goal = site_path(there / "README.md" if (ROOT / there).is_dir() else there)
        elif (ROOT / there).exists():
            return name
        else:
            raise SystemExit(f"{place}: {target} leads nowhere")
        here = len(site_path(place).parts) - 1
        return f"[{name}]({'../' * here}{goal}{'#' + anchor if anchor else ''})"

    return LINK.sub(link, text)


def parts(path: pathlib.PurePosixPath) -> list[str]:
    """The parts of a path without `..`."""
    made = []
    for part in path.parts:
        made = made[:-1] if part == ".." else [*made, part]
    return made


def site_path(place: pathlib.PurePosixPath) -> pathlib.PurePosixPath:
    """Where a file of the repository is in the site. mdBook makes index.html of README.md, but leaves links to it as they are."""
    path = pathlib.PurePosixPath(*place.parts[1:]) if place.parts[0] == "docs" else pathlib.PurePosixPath("project") / place
    return path.with_name("index.md") if path.name == "README.md" else path


def questionless(source: pathlib.Path):
    """Pages whose first paragraph asks nothing. Pages of results are written by experiments, and begin with their paper."""
    for path in sorted(source.rglob("*.md")):
        place = path.relative_to(source)
        if place.parts[0] not in ("results", "project") and path.name != "SUMMARY.md":
            paragraphs = [text for text in path.read_text().split("\n\n") if not text.startswith("#")]
            if "?" not in paragraphs[0]:
                yield place


def title(page: pathlib.Path) -> str:
    """The name of a page of results, and its heading."""
    heading = page.read_text().split("\n", 1)[0].lstrip("# ")
    return f"{page.stem.split('-')[0].capitalize()}: {heading}" if re.match(r"[a-z]+\d{4}", page.stem) else heading


class Links(html.parser.HTMLParser):
    """What a page links to, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.add(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


def broken(folder: pathlib.Path) -> list[str]:
    """Links of the pages in a folder that lead nowhere."""
    pages = {path: Links(path.read_text()) for path in folder.rglob("*.html") if path.name not in ("print.html", "404.html", "toc.html") and path.relative_to(folder).parts[0] != "rust"}
    found = []
    for path, page in pages.items():
        for target in sorted(page.targets):
            parsed = urllib.parse.urlparse(target)
            if parsed.scheme or target.startswith("//"):
                continue
            there = (path.parent / urllib.parse.unquote(parsed.path)).resolve() if parsed.path else path
            if not there.exists() or (parsed.fragment and there in pages and parsed.fragment not in pages[there].anchors):
                found.append(f"{path.relative_to(folder)}: {target}")
    return found


def lead(page: pathlib.Path, link: str) -> None:
    """Puts a link below the heading of a page."""
    heading, rest = page.read_text().split("\n", 1)
    page.write_text(f"{heading}\n\n**{link}**\n{rest}")


def main(mdbook: str, folder: pathlib.Path) -> None:
    source = folder / "src"
    shutil.rmtree(folder, ignore_errors=True)
    for path in (ROOT / "docs").rglob("*"):
        place = path.relative_to(ROOT)
        goal = source / site_path(pathlib.PurePosixPath(place))
        if path.suffix == ".md":
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_text(rewritten(path.read_text(), pathlib.PurePosixPath(place)))
        elif path.suffix in (".png", ".svg", ".csv"):
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, goal)
    (source / "project").mkdir()
    for name in PROJECT:
        (source / "project" / name).write_text(rewritten((ROOT / name).read_text(), pathlib.PurePosixPath(name)))
    summary = (source / "SUMMARY.md").read_text()
    no_question = [str(page) for page in questionless(source)]
    if no_question:
        raise SystemExit("pages that do not begin with the question that they answer: " + ", ".join(no_question))
    summary += "\n# Project\n" + "".join(f"- [{title}](project/{name})\n" for name, title in PROJECT.items())
    results = sorted(path.name for path in (source / "results").glob("*.md") if path.name != "index.md")
    summary = summary.replace("(results/index.md)\n", "(results/index.md)\n" + "".join(f"  - [{title(source / 'results' / name)}](results/{name})\n" for name in results))
    (source / "SUMMARY.md").write_text(summary)
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", summary))
    missing = [str(path.relative_to(source)) for path in source.rglob("*.md") if path.name != "SUMMARY.md" and str(path.relative_to(source)) not in listed]
    if missing:
        raise SystemExit("not in docs/SUMMARY.md: " + ", ".join(missing))
    if STUDIO.exists():
        shutil.copy(STUDIO, source / "studio-page.html")
        lead(source / "studio.md", "[Open the studio](studio-page.html)")
    else:
        print("target/studio/index.html is not there: the site has no studio; make studio makes it")
    if (RUSTDOC / "kernelet" / "index.html").exists():
        for name in ("kernelet", "static.files", "search.index", "src/kernelet", "trait.impl", "type.impl"):
            if (RUSTDOC / name).exists():
                shutil.copytree(RUSTDOC / name, source / "rust" / name)
        lead(source / "reference" / "rust.md", "[Open the documentation of the crate](../rust/kernelet/index.html)")
    else:
        print("target/doc/kernelet is not there: the site has no documentation of the crate; make doc makes it")
    (folder / "book.toml").write_text(BOOK)
    subprocess.run([mdbook, "build", str(folder)], check=True)
    found = broken(folder / "html")
    if found:
        raise SystemExit("broken links:\n" + "\n".join(found))
    print(f"{folder / 'html' / 'index.html'}: {len(list((folder / 'html').rglob('*.html')))} pages, every link checked")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
