"""Check the built site: links, anchors, the navigation, and that no page loads anything from elsewhere.

`python -m scripts.site.check` checks .local/site and docs/, prints each problem, and exits with 1 if there
is one.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from scripts.site.pages import long_pages, navigation_problems, shallow_blocks, split_tables

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / ".local" / "site"

_ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"^(?:mailto|javascript|data|tel):", re.IGNORECASE)
_STYLE_ADDRESS = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
_LOADING = {
    **{("link", each): "href" for each in ("stylesheet", "icon", "preload", "prefetch", "modulepreload")},
    **{("link", each): "href" for each in ("preconnect", "dns-prefetch", "manifest", "apple-touch-icon")},
}
_SOURCES = ("src", "srcset", "poster", "data", "action")


@dataclass
class BuiltPage(HTMLParser):
    """A built page: anchors, links, links in its navigation, and addresses that it loads."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    navigation: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    has_diagram: bool = False
    _depth: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._depth += tag == "nav"
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        self.has_diagram = self.has_diagram or "mermaid" in values.get("class", "").split()
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if self._depth:
                self.navigation.append(values["href"])
        for relation in values.get("rel", "").split() if tag == "link" else ():
            if (tag, relation) in _LOADING:
                self.loaded.append(values.get("href", ""))
        for name in _SOURCES:
            if name in values and tag not in ("meta", "form"):
                self.loaded += [each.split()[0] for each in values[name].split(",") if each.strip()]

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "nav"


def problems(site: Path) -> Iterator[str]:
    """Yield a message for each dead link, address of another site that is loaded, and unreachable page."""
    pages = {str(path): BuiltPage(path) for path in sorted(site.rglob("*.html"))}
    files = {str(path) for path in site.rglob("*") if path.is_file()}
    start = str(site / "index.html")
    if start not in pages:
        yield "index.html: does not exist."
        return
    for page in pages.values():
        if page.path.name != "404.html":  # its links begin at the root of a server
            yield from _problems_of(page, pages, files, site)
    for style in sorted(site.rglob("*.css")):
        for address in _STYLE_ADDRESS.findall(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)}: loads {address}."
    reached = _reached(pages, files, start)
    for path in sorted(set(pages) - reached - {str(site / "404.html")}):
        yield f"{Path(path).relative_to(site)}: no navigation leads to it."


def _problems_of(
    page: BuiltPage, pages: Mapping[str, BuiltPage], files: Set[str], site: Path
) -> Iterator[str]:
    name = page.path.relative_to(site)
    if page.has_diagram:
        yield f"{name}: has a Mermaid diagram, whose script is loaded from another site. Use a picture."
    for address in dict.fromkeys(page.loaded):
        if _ELSEWHERE.match(address):
            yield f"{name}: loads {address}."
        elif not _OTHER_SCHEME.match(address) and _target(page, address, files) not in files:
            yield f"{name}: {address} does not exist."
    for link in dict.fromkeys(page.links):
        if _ELSEWHERE.match(link) or _OTHER_SCHEME.match(link):
            continue
        target, anchor = _target(page, link, files), unquote(link.partition("#")[2])
        if target not in files:
            yield f"{name}: {link} does not exist."
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"{name}: {link} has no such heading."


def _target(page: BuiltPage, link: str, files: Set[str]) -> str:
    path = unquote(link.partition("#")[0].partition("?")[0])
    target = posixpath.normpath(f"{page.path.parent}/{path}") if path else str(page.path)
    index = f"{target}/index.html"
    return index if index in files else target


def _reached(pages: Mapping[str, BuiltPage], files: Set[str], start: str) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        page = pages[waiting.pop()]
        for link in page.navigation:
            target = _target(page, link, files)
            if target in pages and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def main() -> int:
    """Check the pages of docs/ and the built site. Return the exit code."""
    docs = ROOT / "docs"
    findings = [*navigation_problems(ROOT / "mkdocs.yml", docs), *long_pages(docs), *shallow_blocks(docs)]
    findings += [*split_tables(docs), *problems(SITE)]
    sys.stdout.write("".join(f"{each}\n" for each in findings))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
