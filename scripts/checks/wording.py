"""Check the words of code and documents: first words of docstrings, and words that hide a standard term."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NO_VERBS = re.compile(
    r"("
    r"A|All|An|And|As|At|Both|But|By|Each|Either|For|From|He|How|If|In|It|Its|None|No|Nobody|Not|"
    r"Nothing|Of|On|One|Only|Or|Other|Others|She|So|Some|Such|That|The|Their|There|These|They|This|"
    r"Those|To|Two|Until|What|When|Where|Whether|Which|While|Who|Whose|Why|With|Without"
    r")"
)
"""No verb begins with these: the first word of a function's docstring is an imperative."""

_NO_SUBJECTS = re.compile(r"(That|These|Those|What|Whether|Which|Who|Whose|Of|Nobody|Nothing|None)")
"""No other docstring begins with these: it names its subject."""

_WORDS: dict[str, str] = {
    r"\brooms?\b": "package",
    r"\bhouses?\b": "layer",
    r"\bsightings?\b": "job cache, lookup",
    r"\bjudge?ments?\b": "decision",
    r"\bverdicts?\b": "decision",
    r"\bleftovers?\b": "orphans",
    r"\bpatience\b": "timeouts",
    r"\brivals?\b": "conflicts",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\bby hand\b": "manually",
    r"\banew\b": "again",
    r"\bhow manieth\b": "attempt number",
    r"\b(?-i:(is|are) none)\b": "is not a ...",
    r"\bthat there (is|are)\b": "existing",
    r"\bbe it\b": "whether",
    r"\bin no message\b": "is never printed",
    r"\b(tak(e|es|en|ing)|took) over\b": "adopt",
    r"\blasting\b": "persistent",
    r"\bstanding\b": "state",
    r"\bhow (it|they|this|that) stands?\b": "state",
    r"\bwhat runs\b": "run, job",
    r"\bthings? that runs?\b": "run, job",
    r"\bordinary (resource|kind)s?\b": "CRUD resource",
    r"\ba look\b": "a lookup",
    r"\blet be\b": "keep",
    r"\b(of|to|from|with|by|for) whom\b": "name the thing",
    r"\bnot any more\b": "no longer",
    r"\bbut for\b": "except for",
    r"\bif need be\b": "if needed",
    r"\bno sooner\b": "only after",
    r"\bone of ours\b": "ours: name it",
    r"\bthe likes? of\b": "such as",
    r"\band their likes?\b": "and similar",
}
"""Expressions of prose (docstrings, comments, messages, pages), each with what to write instead."""

_NAMES: dict[str, str] = {
    "sighting": "job_cache",
    "sightings": "job_cache",
    "judgement": "decision",
    "verdict": "decision",
    "leftover": "orphan",
    "leftovers": "orphans",
    "patience": "timeouts",
    "rival": "conflict",
    "rivals": "conflicts",
    "mended": "fixed",
    "anew": "again",
    "told": "reported",
    "lasting": "persistent",
    "whom": "name the thing",
    "standing": "status",
    "fates": "soft_deletion",
    "beside": "name the thing",
}
"""Parts of identifiers, in snake case or camel case."""

HABITS: dict[str, re.Pattern[str]] = {
    "that of, those of": re.compile(r"\b(?:that|those)\s+of\b", re.IGNORECASE),
    "Return whether ... is that of": re.compile(
        r'"""Return whether [^".]*\b(?:is|are) (?:that|those)\s+of\b'
    ),
}
"""Expressions that make a sentence slower to read. They are counted, and the count may only fall."""

_OWN = ("wording.py", "test_wording.py")
"""This file and its test, which have the words that they look for."""

_PART_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PROSE = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in _WORDS.items()]


@dataclass(frozen=True)
class Finding:
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def findings_of_python(path: Path, source: str) -> list[Finding]:
    """Check docstrings, comments, string literals and defined names of a module; sort by line."""
    return sorted(_findings_of_python(path, source), key=lambda each: (each.line, each.text))


def _findings_of_python(path: Path, source: str) -> Iterator[Finding]:
    tree = ast.parse(source)
    documented = list(_docstrings(tree))
    docstrings = {id(docstring) for docstring, _ in documented}
    for docstring, owner in documented:
        yield from _first_word(path, docstring, owner)
        yield from _prose(path, docstring.lineno, str(docstring.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if " " in node.value:
                yield from _prose(path, node.lineno, node.value)
        elif name := _defined_name(node):
            yield from _name(path, getattr(node, "lineno", 1), name)
    yield from _name(path, 1, path.stem)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _prose(path, token.start[0], token.string)


def findings_of_page(path: Path, source: str) -> Iterator[Finding]:
    """Check the prose of a Markdown page; code blocks and code spans are left out."""
    fenced = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield from _prose(path, number, re.sub(r"`[^`]*`", "``", line))


def _docstrings(tree: ast.Module) -> Iterator[tuple[ast.Constant, ast.AST]]:
    """Yield each docstring with its owner; of an attribute's docstring the owner is the assignment."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for index, statement in enumerate(body):
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                continue
            if not isinstance(statement.value.value, str):
                continue
            before = body[index - 1] if index else node
            if index == 0 or isinstance(before, ast.Assign | ast.AnnAssign):
                yield statement.value, before


def _first_word(path: Path, node: ast.Constant, owner: ast.AST) -> Iterator[Finding]:
    word = re.match(r"\W*(\w+)", str(node.value))
    if word is None:
        return
    function = isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(owner)
    if (_NO_VERBS if function else _NO_SUBJECTS).fullmatch(word[1]):
        rule = "begin with a verb in the imperative" if function else "name the subject"
        yield Finding(path, node.lineno, f"docstring begins with {word[1]!r}: {rule}")


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is an attribute to its callers, whose docstring is a noun."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def _prose(path: Path, line: int, text: str) -> Iterator[Finding]:
    for pattern, instead in _PROSE:
        for match in pattern.finditer(text):
            at = line + text.count("\n", 0, match.start())
            yield Finding(path, at, f"{match[0]!r}: write {instead!r}")


def _defined_name(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
    return None


def _name(path: Path, line: int, name: str) -> Iterator[Finding]:
    for part in _PART_OF_NAME.findall(name):
        if instead := _NAMES.get(part.lower()):
            yield Finding(path, line, f"name {name!r}: write {instead!r}")


def habits(paths: Sequence[Path]) -> dict[str, int]:
    """Count the habits in Python modules and in pages that nobody generates, in folders."""
    texts = [
        text
        for folder in paths
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".py", ".md") and "descriptors" not in file.parts
        if not (text := file.read_text()).startswith("<!-- Written by `make generate`")
    ]
    return {name: sum(len(pattern.findall(text)) for text in texts) for name, pattern in HABITS.items()}


def findings(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check files, and all Python modules and Markdown pages of folders."""
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if "descriptors" in file.parts or file.name in _OWN:
                continue
            if file.suffix == ".py":
                yield from findings_of_python(file, file.read_text())
            elif file.suffix == ".md":
                yield from findings_of_page(file, file.read_text())


if __name__ == "__main__":
    found = list(findings([Path(each) for each in sys.argv[1:]]))
    for each in found:
        sys.stdout.write(f"{each}\n")
    sys.exit(bool(found))
