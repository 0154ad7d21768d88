"""Write a new version into the files that have it, and the heading of the changelog."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

from scripts.arguments import compatibility
from scripts.layout import Layout
from scripts.report import ChoreError, Report

_PROJECT = re.compile(r'^(version = ")(\d+\.\d+\.\d+)(")$', re.MULTILINE)
_SIBLING = re.compile(r'(?<=")((?:vertex-cluster|vertex-training|vertex-emulator)(?:\[\w+\])?==)[^"]+')
_PACKAGE = (
    Path("providers/vertex-training/src/vertex_training/__init__.py"),
    re.compile(r'^(__version__ = ")(\d+\.\d+\.\d+)(")$', re.MULTILINE),
)
_VERSION_OF_PACK = re.compile(r"^(version: )(\d+\.\d+\.\d+)()$", re.MULTILINE)
_PACKS = tuple(
    (Path("policies") / folder / "PulumiPolicy.yaml", _VERSION_OF_PACK) for folder in (".", "any-host")
)
_SCHEMA = (
    Path("providers/pulumi-vertex-training/src/pulumi_vertex_training/package/schema.json"),
    re.compile(r'^( "version": ")(\d+\.\d+\.\d+)(")', re.MULTILINE),
)
_RELEASED = Path("scripts/arguments/released_schema.json")
_CHANGELOG = Path("CHANGELOG.md")
_UNRELEASED = re.compile(r"^## Unreleased\n(?P<entries>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def prepare(layout: Layout, report: Report, *, version: str, today: datetime.date) -> int:
    """Write the new version. Committing, tagging and publishing are left to the user."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ChoreError(f"VERSION is {version!r}; it must be like 0.2.0. Run `make version VERSION=0.2.0`.")
    texts: dict[Path, str] = {}
    projects = [
        ((each / "pyproject.toml").relative_to(layout.root), _PROJECT) for each in layout.distributions
    ]
    for path, pattern in (*projects, _PACKAGE, _SCHEMA, *_PACKS):
        text = (layout.root / path).read_text()
        match = pattern.search(text)
        if match is None:
            raise ChoreError(f"{path} has no line with the version.")
        if _number(version) <= _number(match[2]):
            raise ChoreError(f"VERSION is {version}, which is not newer than the {match[2]} in {path}.")
        text = pattern.sub(rf"\g<1>{version}\g<3>", text, count=1)
        texts[path] = _SIBLING.sub(rf"\g<1>{version}", text)  # they are released together
    texts[_RELEASED] = compatibility.written(json.loads(texts[_SCHEMA[0]]))
    texts[_CHANGELOG] = changelog((layout.root / _CHANGELOG).read_text(), version, today)
    for path, text in texts.items():
        (layout.root / path).write_text(text)
    report.line(f"Wrote version {version} to {', '.join(map(str, texts))}. Next, run:")
    report.line(f'  .ci/run && make release && git commit -am "Release {version}" && git tag v{version}')
    return 0


def changelog(text: str, version: str, today: datetime.date) -> str:
    """Return the changelog with the unreleased entries under the heading of the new version."""
    match = _UNRELEASED.search(text)
    if match is None or not match["entries"].strip():
        raise ChoreError(f"{_CHANGELOG} has nothing under `## Unreleased`. Describe the changes there.")
    heading = f"## Unreleased\n\n## {version} ({today.isoformat()})\n\n{match['entries'].strip()}\n\n"
    return (text[: match.start()] + heading + text[match.end() :]).rstrip("\n") + "\n"


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
