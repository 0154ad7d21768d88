"""The results that the test processes of a run write (`tests/support/suite/worker.py`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COLLECTION = "imports and collection"


@dataclass(frozen=True)
class EndedTest:
    """A test that has ended. `wall` and `processor` are seconds, with its fixtures."""

    name: str
    outcome: str
    ring: str
    wall: float
    processor: float
    cli_calls: int = 0
    jobs: int = 0
    text: str = ""
    logs: str | None = None

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


@dataclass
class Cost:
    """The cost of the tests of one ring; times in seconds."""

    tests: int = 0
    wall: float = 0.0
    processor: float = 0.0
    cli_calls: int = 0
    jobs: int = 0


@dataclass
class Results:
    """All results so far.

    `running` has the test of each process, `broken` the files that cannot be imported, `ended` the processes
    that have ended well, and `grown` the ones among these that left files to others: they had grown too
    large.
    """

    tests: list[EndedTest] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)
    collection: Cost = field(default_factory=Cost)
    source: str = ""

    def counts(self) -> Counter[str]:
        counts = Counter(test.outcome for test in self.tests)
        counts["failed"] += len(self.broken)
        return counts

    def failures(self) -> list[EndedTest]:
        return [test for test in self.tests if test.outcome == "failed"]

    def slowest(self, count: int) -> list[EndedTest]:
        return sorted(self.tests, key=lambda test: -test.wall)[:count]

    def rings(self) -> dict[str, Cost]:
        """Return the cost of each ring, the cheapest first."""
        found: dict[str, Cost] = {COLLECTION: self.collection}
        for test in self.tests:
            cost = found.setdefault(test.ring, Cost())
            cost.tests += 1
            cost.wall += test.wall
            cost.processor += test.processor
            cost.cli_calls += test.cli_calls
            cost.jobs += test.jobs
        return dict(sorted(found.items(), key=lambda item: item[1].processor))

    def take(self, process: str, row: dict[str, Any]) -> EndedTest | None:
        """Record one row. Return the test if one has ended."""
        match row["event"]:
            case "started":
                self.source = row["source"]
                self.collection.processor += row["cpu"]
            case "collected":
                self.collection.tests += row["tests"]
                self.collection.wall += row["wall"]
                self.collection.processor += row["cpu"]
            case "broken":
                self.broken[row["file"]] = row["text"]
            case "start":
                self.running[process] = row["test"]
            case "ended":
                self.ended.add(process)
                if row["grown"]:
                    self.grown.add(process)
            case "test":
                self.running.pop(process, None)
                test = EndedTest(
                    name=row["test"],
                    outcome=row["outcome"],
                    ring=row["ring"],
                    wall=row["wall"],
                    processor=row["cpu"],
                    cli_calls=row["cli"],
                    jobs=row["jobs"],
                    text=row["text"],
                    logs=row["logs"],
                )
                self.tests.append(test)
                return test
        return None


class Reader:
    """Reads the rows that the processes append to their files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._positions: dict[Path, int] = {}

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the new rows, each with the name of its process. The last line may be incomplete yet."""
        for file in sorted(self._folder.glob("*.jsonl")):
            with file.open("rb") as stream:
                stream.seek(self._positions.get(file, 0))
                for line in stream:
                    if not line.endswith(b"\n"):
                        break
                    self._positions[file] = self._positions.get(file, 0) + len(line)
                    yield file.stem, json.loads(line)
