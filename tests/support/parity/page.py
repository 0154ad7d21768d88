"""The parity page: what Google Cloud does, what the emulator does, and the tests that verify it.

A kind of resource is a `Section` of `Row`s in a module of its own, listed in `sections.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "parity.md"

Likeness = Literal["same", "like", "not"]
Basis = Literal["seen", "client", "suite", "documented", "ours"]
SOURCES: dict[str, Basis] = {
    "captured responses": "seen",
    "logs of real jobs": "seen",
    "errors that users quote": "seen",
    "the clients themselves": "client",
    "requests recorded from those clients": "client",
    "the installed client": "client",
    "google-cloud-aiplatform": "client",
    "gcloud ai custom-jobs stream-logs": "client",
    "API reference": "documented",
    "guide": "documented",
    "documentation of the query language": "documented",
}
"""The known sources. Others are a page of the documentation, in quotes, "suite: NAME", and "ours: REASON"."""

WORDS: dict[Likeness, str] = {"same": "the same", "like": "in its own way", "not": "not done"}
AS_DOCUMENTED = "as documented"
"""The word for "same" in a row that rests on documentation alone."""

_SUITE = "suite: "


@dataclass(frozen=True, kw_only=True)
class Row:
    """One feature.

    `google` and `here` are sentences without a full stop. `source` is the source for Google's side: names of
    `SOURCES`, the strongest first, separated by "; ". `tests` are "tests/PACKAGE/test_file.py::test_name",
    for a method with "::Class" before its name.

    `fields` are paths of the API's message that the row describes, with all fields below them.
    """

    feature: str
    google: str
    likeness: Likeness
    here: str
    source: str
    tests: tuple[str, ...]
    fields: tuple[str, ...] = ()

    @property
    def bases(self) -> tuple[Basis, ...]:
        """The basis of each source."""
        return tuple(map(_basis, self.source.split("; ")))

    @property
    def word(self) -> str:
        """The likeness in words, no stronger than its sources."""
        by_documents = self.likeness == "same" and set(self.bases) == {"documented"}
        return AS_DOCUMENTED if by_documents else WORDS[self.likeness]

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites of others that the row rests on, by their names in tests/suites/catalog.py."""
        return tuple(e.removeprefix(_SUITE) for e in self.source.split("; ") if e.startswith(_SUITE))


@dataclass(frozen=True, kw_only=True)
class Section:
    """A kind of resource, or a service.

    `message` is Google's type, each field of which has a row, or None. `leave_out` are fields that only the
    service sets.
    """

    title: str
    rows: tuple[Row, ...]
    message: type | None = None
    leave_out: frozenset[str] = frozenset()


HEAD = """\
# Parity

This page compares the emulator with Google Cloud. `python -m pytest tests/parity --record` generates it from
the tests. A test fails if the page is not up to date, if it names a test that does not exist or is skipped,
or if a field of Google's installed API has no row.

Each row has a feature, the behaviour of Google Cloud, the source of that knowledge, and the behaviour of
the emulator: **the same**, where answers of the real service, a client or a suite of others show it; **as
documented**, where only documentation does; **in its own way**, with the means of a laptop; or **not done**:
the job runs and its log reports that, and other calls are refused by name. The tests in the row check the
emulator.

No test here calls Google Cloud. `make verify-google` does, for whoever has an account: it
[compares the answers of both](../architecture/verify-google.md), within a budget.
What Google Cloud does is known from these sources:

* **seen**: published responses, logs and errors of the real service; the tests contain them;
* **client**: Google's own programs and message definitions; the tests run them against the emulator, or
  record their requests;
* **suite**: tests that others wrote, run unchanged against the emulator
  ([numbers of the last run](../guides/emulator/clients/suites.md));
* **documented**: Google's documentation, not compared with the real service;
* **ours**: no source of Google's. Such a row is never "the same".
"""


def page(sections: Sequence[Section]) -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, _summary(sections), *(_section(each) for each in sections)])


def _summary(sections: Sequence[Section]) -> str:
    titles = [WORDS["same"], AS_DOCUMENTED, WORDS["like"], WORDS["not"]]
    lines = [
        f"| | {' | '.join(titles)} | tests |",
        "| --- | " + "--- | " * (len(titles) + 1),
    ]
    for section in sections:
        counts = [sum(row.word == title for row in section.rows) for title in titles]
        tests = len({name for row in section.rows for name in row.tests})
        lines.append(f"| {section.title} | {' | '.join(map(str, counts))} | {tests} |")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _section(section: Section) -> str:
    lines = [
        f"## {section.title}\n",
        "| feature | Google Cloud | known from | the emulator | checked by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in section.rows:
        here = f"**{row.word}**: {row.here}"
        tests = "<br>".join(map(_link, row.tests))
        lines.append(f"| {row.feature} | {row.google} | {_known_from(row)} | {here} | {tests} |")
    return "\n".join(lines) + "\n"


def _known_from(row: Row) -> str:
    sources = [each.removeprefix("ours: ").removeprefix(_SUITE) for each in row.source.split("; ")]
    return "<br>".join(f"**{basis}**: {each}" for basis, each in zip(row.bases, sources, strict=True))


def _basis(source: str) -> Basis:
    if source.startswith("ours: "):
        return "ours"
    if source.startswith(_SUITE):
        return "suite"
    is_title = source.startswith('"') and source.endswith('"')
    return "documented" if is_title else SOURCES[source]


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{_in_words(name.rpartition('::')[2])}](../../{path})"


def _in_words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


def missing_tests(section: Section) -> Iterator[str]:
    """Yield the tests named in rows that do not exist or are always skipped."""
    for name in dict.fromkeys(name for row in section.rows for name in row.tests):
        path, _, rest = name.partition("::")
        if rest not in _tests_of(path):
            yield name


@cache
def _tests_of(path: str) -> frozenset[str]:
    try:
        module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return frozenset()
    return frozenset(_names(module.body, ""))


def _names(body: Sequence[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _is_skipped(node):
            continue
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _names(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name


def _is_skipped(node: ast.FunctionDef | ast.ClassDef) -> bool:
    marks = [ast.unparse(each) for each in node.decorator_list]
    return any(mark.startswith(("pytest.mark.skip", "pytest.mark.xfail")) for mark in marks)


def fields_without_row(section: Section) -> Iterator[str]:
    """Yield the fields of the section's message that have no row."""
    from support.clients.recorded_requests import all_fields

    if section.message is None:
        return
    described = {path for row in section.rows for path in row.fields}
    for path in sorted(all_fields(section.message, leave_out=section.leave_out)):
        if not any(path == each or path.startswith(f"{each}.") for each in described):
            yield path
