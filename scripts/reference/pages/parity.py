"""The parity page. A row begins on the page and ends in marks at the tests that verify it.

In docs/reference/parity.md a person writes `* **FEATURE**: what Google Cloud does (BASIS: SOURCE)` into a
section; a row without a basis is documented. The rest of the line, what the emulator does and a link to the
tests, comes from the tests:

    @pytest.mark.parity("Custom jobs: maximum wait", same="by the emulator's clock")

Exactly one mark of each row has `same`, `own_way` or `not_done` with a sentence; marks at further tests only
name the row. With `fields=("job_spec.network",)`, the row describes these fields of the API's message and all
fields below them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.arguments.catalog import ROOT
from scripts.reference.markdown import REFERENCE

PAGE = REFERENCE / "parity.md"

_MARK = "pytest.mark.parity"
_WORDS = {"same": "the same", "own_way": "in its own way", "not_done": "not done"}
_AS_DOCUMENTED = "as documented"
_SUMMARY = (_WORDS["same"], _AS_DOCUMENTED, _WORDS["own_way"], _WORDS["not_done"])
"""The columns of the summary. A row that rests on documentation alone is "as documented", not "the same"."""
_BASES = {"seen", "client", "suite", "documented", "ours"}
_USUAL = "documented"
"""The basis of a row that names none; such a row does not end in parentheses."""
_NAMED = {"suite", "ours"}
"""Bases whose source is always written; any other may have the usual one, which the page names."""
_SECTION = "\n## "
_ARROW = " \N{RIGHTWARDS ARROW} "
_ITEM = re.compile(
    rf"\* \*\*(.+?)\*\*: (.+?)(?: \(((?:{'|'.join(sorted(_BASES))})\b[^{_ARROW.strip()}]*)\))?(?:{_ARROW}.*)?"
)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_FORM = (
    "a row is `* **FEATURE**: what Google Cloud does (BASIS: SOURCE; BASIS)`, with a basis of "
    f"{', '.join(sorted(_BASES))} (none means {_USUAL}), and a source for {' and '.join(sorted(_NAMED))}."
)
_RUN_CLIENTS = (
    "tests/clients/",
    "tests/pulumi_vertex_training/cloud/fidelity/",
    "tests/vertex_emulator/jobs/custom/checks/test_descriptors.py",
)


class ParityError(Exception):
    """The page and the marks do not fit together. The message has a line for each problem."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A mark at the test "PATH::NAME". `likeness` and `here` are empty if the mark only names its row."""

    row: str
    test: str
    likeness: str
    here: str
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: its section, its feature, what Google Cloud does, the sources, and its marks.

    The mark with the likeness is the first.
    """

    section: str
    feature: str
    google: str
    known_from: str
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """The name of the row in marks."""
        return f"{self.section}: {self.feature}"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The basis and the name of each source, such as ("suite", "gcsfs")."""
        parts = (each.partition(": ") for each in self.known_from.split("; "))
        return [(basis, name) for basis, _, name in parts]

    @property
    def word(self) -> str:
        """The likeness in words, no stronger than its sources."""
        likeness = self.marks[0].likeness
        by_documents = likeness == "same" and {basis for basis, _ in self.sources} == {"documented"}
        return _AS_DOCUMENTED if by_documents else _WORDS[likeness]

    def line(self) -> str:
        """Return the row as it is written on the page."""
        count = len(self.marks)
        tests = f"[{count}](../../{self.marks[0].test.partition('::')[0]})"
        here = f"{self.marks[0].here} ({tests})"
        usual = self.known_from == _USUAL and not self.google.endswith(")")
        known = "" if usual else f" ({self.known_from})"
        return f"* **{self.feature}**: {self.google}{known}{_ARROW}{here}\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page. Raises ParityError."""
    yield PAGE, written(PAGE.read_text(encoding="utf-8"), marks(ROOT))


def current_rows() -> list[Row]:
    """Return the rows of the page. Raises ParityError."""
    return rows(PAGE.read_text(encoding="utf-8"), marks(ROOT))


def written(page: str, found: Iterable[Mark]) -> str:
    """Return the text of a page with the cells that come from marks. Raises ParityError."""
    lines: dict[str, list[Row]] = {}
    for row in rows(page, found):
        lines.setdefault(row.section, []).append(row)
    head, *sections = page.split(_SECTION)
    texts = [_TABLE.sub(lambda _: "".join(_summary(lines)), head)]
    for each in sections:
        title = each.partition("\n")[0]
        texts.append(f"{title}\n{_groups(lines[title])}")
    return _SECTION.join(texts)


def _groups(of_section: Iterable[Row]) -> str:
    """Return the rows of a section by likeness, those first that differ from Google Cloud."""
    rows_of: dict[str, list[Row]] = {}
    for row in of_section:
        rows_of.setdefault(row.word, []).append(row)
    return "".join(
        f"\n*{word.capitalize()}*\n\n{''.join(row.line() for row in rows_of[word])}"
        for word in reversed(_SUMMARY)
        if word in rows_of
    )


def _summary(sections: Mapping[str, list[Row]]) -> Iterator[str]:
    yield f"| | {' | '.join(_SUMMARY)} | tests |\n"
    yield f"| ---{' | ---' * (len(_SUMMARY) + 1)} |\n"
    for section, of_it in sections.items():
        counts = Counter(row.word for row in of_it)
        tests = {mark.test for row in of_it for mark in row.marks}
        yield f"| {section} | {' | '.join(str(counts[word]) for word in _SUMMARY)} | {len(tests)} |\n"


def rows(page: str, found: Iterable[Mark]) -> list[Row]:
    """Return the rows of the text of a page. Raises ParityError."""
    unused: dict[str, list[Mark]] = {}
    for mark in sorted(found, key=lambda each: not each.likeness):
        unused.setdefault(mark.row, []).append(mark)
    built = [
        Row(
            section=section,
            feature=feature,
            google=google,
            known_from=known_from,
            marks=tuple(unused.pop(f"{section}: {feature}", ())),
        )
        for section, feature, google, known_from in _items(page)
    ]
    problems = [f"{row.name}: {problem}" for row in built for problem in _problems(row)]
    problems += [f"{mark.test}: the page has no row {mark.row!r}." for of in unused.values() for mark in of]
    if problems:
        raise ParityError("\n".join(problems))
    return built


def _items(page: str) -> Iterator[tuple[str, str, str, str]]:
    for section in page.split(_SECTION)[1:]:
        title, *lines = section.split("\n")
        for line in lines:
            if line.startswith("* "):
                found = _ITEM.fullmatch(line)
                if found is None or (found[3] is None and found[2].endswith(")")):
                    raise ParityError(f"{title}: {line}: {_FORM}")
                yield title, found[1], found[2], found[3] or _USUAL


def _problems(row: Row) -> Iterator[str]:
    bases = {basis for basis, _ in row.sources}
    if not bases <= _BASES or any(basis in _NAMED and not name for basis, name in row.sources):
        yield _FORM
    likenesses = [mark.likeness for mark in row.marks if mark.likeness]
    if len(likenesses) != 1:
        yield f"{len(likenesses)} marks have a likeness ({', '.join(_WORDS)}); exactly one needs it."
    if len({mark.test for mark in row.marks}) < len(row.marks):
        yield "a test has two marks for it."
    if likenesses == ["same"]:
        if bases == {"ours"}:
            yield "without a source of Google's it cannot be the same."
        if "client" in bases and not any(mark.test.startswith(_RUN_CLIENTS) for mark in row.marks):
            yield "known from a client, it is the same only if one of its tests runs a client."


def marks(root: Path) -> list[Mark]:
    """Return the marks of all tests, in the order of the files. Raises ParityError."""
    return [
        mark
        for path in sorted((root / "tests").rglob("test_*.py"))
        if _MARK in (text := path.read_text(encoding="utf-8"))
        for mark in _marks_of(ast.parse(text), path.relative_to(root).as_posix())
    ]


def _marks_of(module: ast.Module, path: str) -> Iterator[Mark]:
    left = {each for each in ast.walk(module) if isinstance(each, ast.Call) and _is_mark(each)}
    for name, test in _tests(module, path):
        for call in left.intersection(test.decorator_list):
            if any(map(_skips, test.decorator_list)):
                raise ParityError(f"{name}: a skipped test verifies nothing. Remove its parity mark.")
            yield _mark(call, name)
        left.difference_update(test.decorator_list)
    for call in left:
        raise ParityError(f"{path}:{call.lineno}: the parity mark is not at a test function.")


def _is_mark(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "parity"


def _skips(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith(("pytest.mark.skip", "pytest.mark.xfail"))


def _tests(node: ast.Module | ast.ClassDef, path: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for each in node.body:
        if isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            yield from _tests(each, f"{path}::{each.name}")
        elif isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
            yield f"{path}::{each.name}", each


def _mark(call: ast.Call, test: str) -> Mark:
    try:
        [row] = map(ast.literal_eval, call.args)
        says = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        fields = says.pop("fields", ())
        [(likeness, here)] = says.items() or [("", "")]
        if likeness not in {"", *_WORDS} or _ARROW.strip() in here:
            raise ValueError(likeness)
    except ValueError as error:
        raise ParityError(
            f"{test}: a parity mark takes a row, one of {', '.join(_WORDS)}, and fields."
        ) from error
    return Mark(row=row, test=test, likeness=likeness, here=here, fields=fields)
