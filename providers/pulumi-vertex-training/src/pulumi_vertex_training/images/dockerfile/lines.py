"""Split a Dockerfile into instructions: directives, comments, continuation lines, heredocs.

It follows BuildKit's parser (frontend/dockerfile/parser), which `docker build` uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pulumi_vertex_training.images.dockerfile.rules import DOCKERFILE_SYNTAX
from vertex_training.findings.problems import Problem

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*")
_HEREDOC = re.compile(r"(\d*)<<(-?)([^<]+)")
_WITH_HEREDOCS = frozenset({"ADD", "COPY", "RUN"})


@dataclass(frozen=True, kw_only=True)
class Heredoc:
    """A heredoc of an instruction: `name` is its delimiter, `expands` whether its variables are replaced."""

    name: str
    content: str
    expands: bool


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction: its first line, its name in capitals, its flags, its arguments, and its source text.

    A flag without a value has "true". `arguments` follow the flags; continuation lines are joined.
    """

    line: int
    name: str
    arguments: str
    text: str
    flags: tuple[tuple[str, str], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()

    def flag(self, name: str) -> str | None:
        """Return the value of a flag, or None."""
        return next((value for key, value in self.flags if key == name), None)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The instructions of a Dockerfile, its escape character, and its syntax problems."""

    instructions: tuple[Instruction, ...]
    escape: str
    problems: tuple[Problem, ...]


@dataclass(kw_only=True)
class _Reader:
    file: str
    lines: list[str]
    escape: str = "\\"
    at: int = 0
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, line: int, message: str) -> None:
        self.problems.append(DOCKERFILE_SYNTAX.broken(f"{self.file}:{line}", message))


def read_lines(text: str, file: str) -> Lines:
    """Return the instructions of a Dockerfile; `file` is its name in messages."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    reader = _Reader(file=file, lines=lines)
    _read_directives(reader)
    instructions = tuple(_instructions(reader))
    return Lines(instructions=instructions, escape=reader.escape, problems=tuple(reader.problems))


def _read_directives(reader: _Reader) -> None:
    """Read directives such as `# escape=`, which come before everything else, even comments."""
    seen: set[str] = set()
    for number, line in enumerate(reader.lines, start=1):
        match = _DIRECTIVE.fullmatch(line.strip())
        name = match[1].lower() if match else ""
        if not match or name not in ("syntax", "escape", "check"):
            return
        if name in seen:
            reader.refuse(number, f"the directive {name} occurs twice. Remove one of the two.")
        seen.add(name)
        if name == "escape":
            if match[2] not in ("\\", "`"):
                reader.refuse(number, f"{match[2]!r} cannot be the escape character. Use \\ or `.")
            else:
                reader.escape = match[2]
        elif name == "syntax" and not re.match(
            r"(docker\.io/)?docker/dockerfile(-upstream)?([:@]|$)", match[2]
        ):
            message = (
                f"the syntax {match[2]!r} is not Docker's own, docker/dockerfile:1. Build it with docker."
            )
            reader.refuse(number, message)


def _instructions(reader: _Reader) -> Iterator[Instruction]:
    continued = re.compile(rf"(?:^|(?<=[^{re.escape(reader.escape)}])){re.escape(reader.escape)}[ \t]*$")
    while reader.at < len(reader.lines):
        start = reader.at
        line = reader.lines[reader.at].strip()
        reader.at += 1
        if not line or line.startswith("#"):
            continue
        written, parts = [line], []
        while match := continued.search(line):
            parts.append(line[: match.start()])
            while reader.at < len(reader.lines) and _is_skipped(reader.lines[reader.at]):
                reader.at += 1
            line = ""
            if reader.at >= len(reader.lines):
                break
            line = reader.lines[reader.at].rstrip()
            reader.at += 1
            written.append(line.strip())
        joined = "".join([*parts, line])
        yield _instruction(reader, start + 1, joined.strip(), " ".join(written))


def _is_skipped(line: str) -> bool:
    """Return whether a line is empty or a comment, which does not end a continued instruction."""
    return not line.strip() or line.lstrip().startswith("#")


def _instruction(reader: _Reader, line: int, joined: str, text: str) -> Instruction:
    name, _, rest = joined.partition(" ") if " " in joined else joined.partition("\t")
    if "\t" in name:
        name, _, rest = joined.partition("\t")
    name, rest = name.upper(), rest.strip()
    heredocs = tuple(_heredocs(reader, line, rest)) if _takes_heredocs(name, rest) else ()
    flags, arguments = _flags(reader, line, rest) if name != "ONBUILD" else ((), rest)
    return Instruction(
        line=line,
        name=name,
        arguments=arguments,
        text=" ".join(joined.split()) if name != "RUN" else text,
        flags=flags,
        heredocs=heredocs,
    )


def _takes_heredocs(name: str, rest: str) -> bool:
    if name == "ONBUILD":
        name = rest.split(maxsplit=1)[0].upper() if rest else ""
    return name in _WITH_HEREDOCS and "<<" in rest and not rest.startswith("[")


def _heredocs(reader: _Reader, line: int, rest: str) -> Iterator[Heredoc]:
    for word in rest.split():
        match = _HEREDOC.fullmatch(word)
        if not match:
            continue
        quoted = match[3]
        name = quoted.strip("'\"")
        if not name:
            continue
        content: list[str] = []
        while reader.at < len(reader.lines):
            following = reader.lines[reader.at]
            reader.at += 1
            if match[2]:
                following = following.lstrip("\t")
            if following == name:
                break
            content.append(following + "\n")
        else:
            reader.refuse(line, f"the heredoc <<{name} has no end. Put {name} alone on the line after it.")
        yield Heredoc(name=name, content="".join(content), expands=quoted == name)


def _flags(reader: _Reader, line: int, rest: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """Split the leading `--name=value` flags from the arguments."""
    flags: list[tuple[str, str]] = []
    while rest.startswith("--"):
        word, _, after = _first_word(rest)
        if word == "--":
            return tuple(flags), after
        name, equals, value = word[2:].partition("=")
        if any(name == known for known, _ in flags) and name != "exclude":
            reader.refuse(line, f"the flag --{name} is given twice. Remove one of the two.")
        flags.append((name, _unquoted(value) if equals else "true"))
        rest = after
    return tuple(flags), rest


def _first_word(text: str) -> tuple[str, str, str]:
    """Split at the first space that is not inside quotes."""
    quote = ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character.isspace():
            return text[:index], " ", text[index:].lstrip()
    return text, "", ""


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
