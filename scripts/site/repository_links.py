"""A Markdown extension: links from a page of docs/ to files of the repository that are not in docs/.

They lead to the repository at the address in `extra.repository` of mkdocs.yml, such as
`https://github.com/OWNER/NAME/blob/v1.0.0`. Without an address the text stays, with the path as its title.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor

from scripts.site.pages import path_in_repository

_CONTEXT = "rendering_context"
"""The preprocessor in which Zensical puts the page and the configuration."""


class RepositoryLinks(Treeprocessor):
    """Point the links of a page that leave docs/ to the repository."""

    def run(self, root: ElementTree.Element) -> None:
        if _CONTEXT not in self.md.preprocessors:
            return
        context = self.md.preprocessors[_CONTEXT]
        page, config = context.page, context.config  # type: ignore[attr-defined]
        repository = str(config["extra"].get("repository") or "").rstrip("/")
        for link in root.iter("a"):
            href = link.get("href", "")
            target = path_in_repository(page.path, href)
            if target is None:
                continue
            if repository:
                anchor = href.partition("#")[2]
                link.set("href", f"{repository}/{target}" + (f"#{anchor}" if anchor else ""))
            else:
                link.tag = "span"
                link.attrib = {"class": "repository-path", "title": f"{target} in the repository"}


class RepositoryLinksExtension(Extension):
    """Register the processor before Zensical rewrites the links between pages."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(RepositoryLinks(md), "repository_links", 5)


def makeExtension(**settings: Any) -> RepositoryLinksExtension:  # noqa: N802
    """Return the extension; Python-Markdown looks for this name."""
    return RepositoryLinksExtension(**settings)
