"""Write llms.txt at the root of the built site: each page by section with its title and first sentence.

`python -m scripts.site.llms` reads mkdocs.yml and docs/, and writes .local/site/llms.txt for agents, in the
format of https://llmstxt.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.site.check import ROOT, SITE
from scripts.site.pages import sections

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(.+?[.:])(?=\s|$)", re.DOTALL)
_TOP = """# Distributed training on Vertex AI

> Declare distributed training jobs of Vertex AI as Pulumi resources in Python, YAML, TypeScript or Go. The
> same program runs on an emulator on this machine, or on Google Cloud.

Schema of every command's `--json`: [command.schema.json](reference/command.schema.json)
"""


def text(configuration: Path, docs: Path) -> str:
    """Return the text of llms.txt for the pages in the navigation of mkdocs.yml."""
    parts = [_TOP]
    for section, pages in sections(configuration):
        parts.append(f"## {section}\n\n" + "".join(_line(page, docs / page) for page in pages))
    return "\n".join(parts)


def _line(page: str, file: Path) -> str:
    title, summary = described(file.read_text(encoding="utf-8"))
    address = page.removesuffix(".md") + ".html"
    return f"- [{title}]({address})" + (f": {summary}" if summary else "") + "\n"


def described(page: str) -> tuple[str, str]:
    """Return the title of a page, and the first sentence of its text, "" without one."""
    lines = _LINK.sub(r"\1", _COMMENT.sub("", page)).strip().split("\n")
    first = next(_paragraphs("\n".join(lines[1:])), "")
    found = _SENTENCE.match(" ".join(first.split()))
    return lines[0].lstrip("# ").replace("\\", ""), found[1].rstrip(":").replace("**", "") if found else ""


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text):
        if part.strip() and not part.lstrip().startswith(("#", "|", "```", "!", "<", "*", "-")):
            yield part


def main() -> None:
    (SITE / "llms.txt").write_text(text(ROOT / "mkdocs.yml", ROOT / "docs"), encoding="utf-8")


if __name__ == "__main__":
    main()
