"""Write a new version into the files that have it, and the heading of the changelog."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from scripts.layout import Layout
from scripts.report import ChoreError, Report

_PROJECT = (Path("pyproject.toml"), re.compile(r'^(version = ")(\d+\.\d+\.\d+)(")$', re.MULTILINE))
_PACKAGE = (
    Path("providers/vertex_training/__init__.py"),
    re.compile(r'^(__version__ = ")(\d+\.\d+\.\d+)(")$', re.MULTILINE),
)
_CLUSTER = (Path("providers/vertex_cluster/pyproject.toml"), _PROJECT[1])
_VERSION_OF_PACK = re.compile(r"^(version: )(\d+\.\d+\.\d+)()$", re.MULTILINE)
_PACKS = tuple(
    (Path("policies") / folder / "PulumiPolicy.yaml", _VERSION_OF_PACK) for folder in (".", "any-host")
)
_CHANGELOG = Path("CHANGELOG.md")
_UNRELEASED = re.compile(r"^## Unreleased\n(?P<entries>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def prepare(layout: Layout, report: Report, *, version: str, today: datetime.date) -> int:
    """Write the new version. Committing, tagging and publishing are left to the user."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ChoreError(f"VERSION is {version!r}; it must be like 0.2.0. Run `make version VERSION=0.2.0`.")
    texts: dict[Path, str] = {}
    for path, pattern in (_PROJECT, _PACKAGE, _CLUSTER, *_PACKS):
        text = (layout.root / path).read_text()
        found = pattern.search(text)
        if found is None:
            raise ChoreError(f"{path} has no line with the version.")
        if _number(version) <= _number(found[2]):
            raise ChoreError(f"VERSION is {version}, which is not newer than the {found[2]} in {path}.")
        texts[path] = pattern.sub(rf"\g<1>{version}\g<3>", text, count=1)
    texts[_CHANGELOG] = changelog((layout.root / _CHANGELOG).read_text(), version, today)
    for path, text in texts.items():
        (layout.root / path).write_text(text)
    report.line(f"Wrote version {version} to {', '.join(map(str, texts))}. Next, run:")
    report.line(f'  .ci/run && make release && git commit -am "Release {version}" && git tag v{version}')
    return 0


def changelog(text: str, version: str, today: datetime.date) -> str:
    """Return the changelog with the unreleased entries under the heading of the new version."""
    found = _UNRELEASED.search(text)
    if found is None or not found["entries"].strip():
        raise ChoreError(f"{_CHANGELOG} has nothing under `## Unreleased`. Describe the changes there.")
    heading = f"## Unreleased\n\n## {version} ({today.isoformat()})\n\n{found['entries'].strip()}\n\n"
    return (text[: found.start()] + heading + text[found.end() :]).rstrip("\n") + "\n"


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
