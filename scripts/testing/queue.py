"""The entries of a run: which test files, with which tests of them, in which order."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FAST, SLOW = "not slow", "slow"
"""The mark expressions of the tests that `make test` runs, and of those that it leaves out."""

SMOKE = "slow and smoke"
"""One slow test of each third-party client."""

PARTS = 4
"""A sample has one of so many parts of the files with slow tests."""

DIVIDED = {
    "tests/pulumi_vertex_training/core/test_kills_everywhere.py": 8,
    "tests/pulumi_vertex_training/core/running/test_climb_elsewhere.py": 8,
    "tests/pulumi_vertex_training/core/running/test_climb_killed.py": 8,
    "tests/pulumi_vertex_training/core/running/test_lineage_of_runs.py": 8,
}
"""Files of which each sample has one of so many parts: all kills take one process about half an hour."""

_DEAREST = (
    "tests/pulumi_vertex_training/core/test_kills_everywhere.py",
    "tests/examples/",
    "tests/engine/",
    "tests/ui/",
    "tests/clients/",
    "tests/gitops/",
    "tests/setup/",
    "tests/pulumi_vertex_training/cli/",
    "tests/pulumi_vertex_training/core/running/",
    "tests/vertex_emulator/replicas/",
    "tests/vertex_emulator/jobs/custom/",
)
"""Folders whose files take longest. They begin first, so that all processes end at about the same time."""


@dataclass(frozen=True)
class Entry:
    """Tests of one file: those to which a mark expression of pytest applies. An empty one means all.

    Of a file in DIVIDED, only the tests of a `part`, if one is given.
    """

    file: str
    marks: str
    part: int | None = None

    def __str__(self) -> str:
        return f"{self.file}\t{self.marks}\t{'' if self.part is None else self.part}"

    def has(self, test: str) -> bool:
        """Return whether the test with this id is in the part."""
        return self.part is None or part_of(test, DIVIDED[self.file]) == self.part

    @classmethod
    def parse(cls, line: str) -> Entry:
        """Return the entry that was written as a line."""
        file, marks, part = line.split("\t")
        return cls(file, marks, int(part) if part else None)


def test_files(root: Path, below: Iterable[str] = ("tests",)) -> list[str]:
    """Return the test files in these folders or files, relative to the root of the clone."""
    names = set()
    for each in below:
        place = root / each
        files = place.rglob("test_*.py") if place.is_dir() else [place]
        names |= {file.relative_to(root).as_posix() for file in files if file.name.startswith("test_")}
    return sorted(names)


def has_mark(root: Path, file: str, mark: str) -> bool:
    """Return whether a file has tests with a mark."""
    return f"mark.{mark}" in (root / file).read_text(encoding="utf-8")


def entries(root: Path, files: Sequence[str], *, marks: str, seed: int) -> list[Entry]:
    """Return the entries of a run, the longest first, otherwise in an order that depends on the seed."""
    if "slow" in marks.replace(FAST, ""):
        files = [file for file in files if has_mark(root, file, "slow")]
    return _ordered([Entry(file, marks) for file in files], seed)


def with_sample(root: Path, fast: Sequence[Entry], *, commit: str | None, seed: int) -> list[Entry]:
    """Add the slow smoke tests, and all slow tests of a part of the files, which a commit's hash chooses.

    Without a commit, the smoke tests alone.
    """
    slow = [file for file in test_files(root) if has_mark(root, file, "slow")]
    whole, divided = [], []
    if commit is not None:
        number = int(commit[:8], 16)
        chosen = (file for file in slow if file not in DIVIDED and part_of(file, PARTS) == number % PARTS)
        whole = [Entry(file, SLOW) for file in chosen]
        divided = [Entry(file, SLOW, number % parts) for file, parts in DIVIDED.items() if file in slow]
    done = {each.file for each in whole}
    smoke = [Entry(file, SMOKE) for file in slow if file not in done and has_mark(root, file, "smoke")]
    return _ordered([*fast, *whole, *divided, *smoke], seed)


def part_of(name: str, parts: int) -> int:
    """Return the part that a file, or a test of a divided file, belongs to."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % parts


def _ordered(found: list[Entry], seed: int) -> list[Entry]:
    random.Random(seed).shuffle(found)  # noqa: S311  an order, not a secret
    return sorted(found, key=_rank)


def _rank(entry: Entry) -> tuple[bool, int]:
    places = (number for number, folder in enumerate(_DEAREST) if entry.file.startswith(folder))
    return entry.marks == FAST, next(places, len(_DEAREST))
