"""Parsing a Dockerfile, and the problems of malformed ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, read_dockerfile
from support.client.builds.built_images import refused
from support.measured.growth import is_linear
from support.tables import every_row
from vertex_training.findings.problems import Problem, errors


def read(text: str, **build_args: str) -> tuple[Dockerfile, list[Problem]]:
    return read_dockerfile(text, "Dockerfile", build_args=build_args, platform="linux/amd64", target=None)


def fine(text: str, **build_args: str) -> Dockerfile:
    dockerfile, problems = read(text, **build_args)
    assert not problems
    return dockerfile


def instructions(text: str) -> list[tuple[int, str, str]]:
    stage = fine("FROM scratch\n" + text).stages[0]
    return [(each.line, each.name, each.arguments) for each in stage.instructions]


LINES = [
    pytest.param("USER a", [(2, "USER", "a")], id="one line"),
    pytest.param("user a", [(2, "USER", "a")], id="small letters"),
    pytest.param("  USER   a  ", [(2, "USER", "a")], id="space around"),
    pytest.param("USER\ta", [(2, "USER", "a")], id="tab"),
    pytest.param("# USER b\nUSER a", [(3, "USER", "a")], id="comment"),
    pytest.param("  # USER b\nUSER a", [(3, "USER", "a")], id="comment after space"),
    pytest.param("USER a # b", [(2, "USER", "a # b")], id="no comment at the end of a line"),
    pytest.param("ENV a=1 \\\n b=2", [(2, "ENV", "a=1  b=2")], id="continuation"),
    pytest.param("ENV a=1 \\ \n b=2", [(2, "ENV", "a=1  b=2")], id="space after the backslash"),
    pytest.param("ENV a=1 \\\n# c\n b=2", [(2, "ENV", "a=1  b=2")], id="comment within"),
    pytest.param("ENV a=1 \\\n\n b=2", [(2, "ENV", "a=1  b=2")], id="empty line within"),
    pytest.param("ENV a=1\\\\\nUSER b", [(2, "ENV", "a=1\\\\"), (3, "USER", "b")], id="escaped backslash"),
    pytest.param("USER a\r\nUSER b\r\n", [(2, "USER", "a"), (3, "USER", "b")], id="lines of Windows"),
    pytest.param("RUN a <<E\nUSER b\nE\nUSER c", [(2, "RUN", "a <<E"), (5, "USER", "c")], id="heredoc"),
    pytest.param("COPY --link a b", [(2, "COPY", "a b")], id="flag"),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_lines(text: str, expected: list[tuple[int, str, str]]) -> None:
    assert instructions(text) == expected


def test_the_escape_directive() -> None:
    stage = fine("# escape=`\nFROM scratch\nENV a=1 `\n b=c:\\\n").stages[0]
    assert [each.arguments for each in stage.instructions] == ["a=1  b=c:\\"]


def test_an_instruction_of_many_lines_is_read_in_linear_time() -> None:
    """60,000 such lines took more than four minutes."""

    def read(count: int) -> None:
        lines = "".join(f"A{i}=1 \\\n" for i in range(count))
        (instruction,) = fine(f"FROM scratch\nENV \\\n{lines}Z=1\n").stages[0].instructions
        assert instruction.arguments.endswith("Z=1")

    assert is_linear(read, size=5_000)


def test_a_directive_after_a_comment_is_a_comment() -> None:
    assert fine("# hello\n# escape=`\nFROM scratch\n").escape == "\\"


def test_dockers_own_syntax_is_taken() -> None:
    assert fine("# syntax=docker/dockerfile:1\nFROM scratch").stages


HEREDOCS = [
    pytest.param("COPY <<E /x\na $b\nE", ("a $b\n", True), id="plain"),
    pytest.param("COPY <<'E' /x\na\nE", ("a\n", False), id="single quotes"),
    pytest.param('COPY <<"E" /x\na\nE', ("a\n", False), id="double quotes"),
    pytest.param("COPY <<-E /x\n\ta\n\tE", ("a\n", True), id="tabs taken away"),
    pytest.param("COPY <<E /x\nE", ("", True), id="empty"),
    pytest.param("COPY <<E /x\n # a\n\nE", (" # a\n\n", True), id="comments and empty lines stay"),
]


@pytest.mark.parametrize(("text", "expected"), HEREDOCS)
def test_heredocs(text: str, expected: tuple[str, bool]) -> None:
    (heredoc,) = fine("FROM scratch\n" + text).stages[0].instructions[0].heredocs
    assert (heredoc.content, heredoc.expands) == expected


BASES = [
    pytest.param("FROM scratch", None, id="scratch"),
    pytest.param("FROM python:3.11", "docker.io/library/python:3.11", id="image"),
    pytest.param("FROM python AS x", "docker.io/library/python", id="named"),
    pytest.param("from python as X", "docker.io/library/python", id="small letters"),
    pytest.param("ARG V=3\nFROM python:$V", "docker.io/library/python:3", id="argument"),
    pytest.param("ARG V\nFROM python:${V:-4}", "docker.io/library/python:4", id="default"),
    pytest.param("ARG V=3\nARG W=${V}.1\nFROM a:$W", "docker.io/library/a:3.1", id="argument of arguments"),
    pytest.param("ARG GIVEN=3\nFROM a:$GIVEN", "docker.io/library/a:9", id="build argument"),
    pytest.param("FROM --platform=$TARGETPLATFORM a", "docker.io/library/a", id="platform"),
    pytest.param("FROM a:$TARGETARCH", "docker.io/library/a:amd64", id="argument of the platform"),
]


@pytest.mark.parametrize(("text", "base"), BASES)
def test_bases(text: str, base: str | None) -> None:
    assert fine(text, GIVEN="9").stages[0].base == base


def test_a_stage_is_found_by_name_and_number() -> None:
    dockerfile = fine("FROM scratch AS One\nFROM one\n")
    assert dockerfile.stages[1].base == 0
    assert dockerfile.stage("ONE") == dockerfile.stage("0") == dockerfile.stages[0]


MALFORMED = [
    pytest.param("", "Dockerfile", "has no FROM", id="empty"),
    pytest.param("USER a", "Dockerfile", "has no FROM", id="no FROM"),
    pytest.param("USER a\nFROM scratch", "Dockerfile:1", "before the first FROM", id="before FROM"),
    pytest.param("FROM scratch\nCOPPY a b", "Dockerfile:2", "Did you mean 'COPY'?", id="unknown instruction"),
    pytest.param("FROM scratch\nXYZ", "Dockerfile:2", "end it with a backslash", id="nothing near"),
    pytest.param("FROM scratch\nCOPY --chwon=1 a b", "Dockerfile:2", "Did you mean '--chown'?", id="flag"),
    pytest.param("FROM scratch\nUSER --x a", "Dockerfile:2", "USER has no flag --x", id="no flags"),
    pytest.param("FROM scratch\nCOPY --link --link a b", "Dockerfile:2", "given twice", id="flag twice"),
    pytest.param("FROM scratch\nENV", "Dockerfile:2", "ENV has no arguments", id="no arguments"),
    pytest.param("FROM a b", "Dockerfile:1", "is malformed", id="two words"),
    pytest.param("FROM a in b", "Dockerfile:1", "is malformed", id="no AS"),
    pytest.param("FROM Python", "Dockerfile:1", "not the name of an image", id="capitals"),
    pytest.param("FROM $X", "Dockerfile:1", "'$X' is empty", id="empty argument"),
    pytest.param("FROM 'a", "Dockerfile:1", "single quote", id="open quote"),
    pytest.param("FROM a AS 1", "Dockerfile:1", "is not a stage name", id="number as a name"),
    pytest.param("FROM a AS x\nFROM b AS X", "Dockerfile:2", "is called 'X', too", id="two of a name"),
    pytest.param(
        "FROM --platform=linux/arm64 a", "Dockerfile:1", "differs from the image's platform", id="platform"
    ),
    pytest.param("# escape=x\nFROM a", "Dockerfile:1", "'x' cannot be the escape", id="escape"),
    pytest.param("# escape=`\n# escape=`\nFROM a", "Dockerfile:2", "twice", id="directive twice"),
    pytest.param("# syntax=me/mine\nFROM a", "Dockerfile:1", "not Docker's own", id="syntax"),
    pytest.param("FROM a\nCOPY <<E /x\na", "Dockerfile:2", "<<E has no end", id="open heredoc"),
    pytest.param("FROM a\nONBUILD FROM b", "Dockerfile:2", "ONBUILD FROM is not allowed", id="ONBUILD FROM"),
    pytest.param("FROM a\nONBUILD COPPY b", "Dockerfile:2", "'COPPY' after ONBUILD", id="ONBUILD of nothing"),
]


@every_row(("text", "place", "part"), MALFORMED)
def test_what_is_malformed_is_named(text: str, place: str, part: str) -> None:
    _, problems = read(text)
    assert any(problem.path == place and part in problem.message for problem in problems), problems


VALUES = [
    pytest.param("ENV a", "ENV a has no value", id="ENV without a value"),
    pytest.param("ENV a=1 b", "'b' has no value in ENV", id="ENV with a word"),
    pytest.param("ENV =1", "no name before the '='", id="ENV without a name"),
    pytest.param("LABEL a", "LABEL a has no value", id="LABEL without a value"),
    pytest.param("EXPOSE http", "'http' is not a port", id="port"),
    pytest.param("EXPOSE 70000", "'70000' is not a port", id="large port"),
    pytest.param("EXPOSE 9-8", "'9-8' is not a port", id="range backwards"),
    pytest.param("STOPSIGNAL 99", "'99' is not a signal", id="signal"),
    pytest.param("SHELL /bin/sh", "JSON array", id="SHELL as text"),
    pytest.param("USER $NOBODY", "is empty", id="empty user"),
    pytest.param("WORKDIR $NOWHERE", "WORKDIR is empty", id="empty folder"),
    pytest.param("HEALTHCHECK curl", "neither CMD", id="HEALTHCHECK"),
    pytest.param("HEALTHCHECK --interval=5 CMD a", "--interval=5 is not a duration", id="duration"),
    pytest.param("HEALTHCHECK --retries=x CMD a", "--retries=x is not a number", id="retries"),
    pytest.param("COPY a", "has only one path", id="COPY with one path"),
    pytest.param("COPY --chmod=rwx a b", "not a mode in octal", id="chmod"),
    pytest.param("COPY --chown=: a /b", "is not an owner", id="chown"),
    pytest.param("ENV A=${", "without a name", id="expansion"),
]


@pytest.mark.parametrize(("line", "part"), VALUES)
def test_a_wrong_value_is_named_with_its_line(line: str, part: str, tmp_path: Path) -> None:
    (problem,) = errors(refused(tmp_path / "c", f"FROM scratch\n\n{line}\n", {"a": ""}))
    assert problem.path == "Dockerfile:3"
    assert part in problem.message


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    text = "FROM scratch\nCOPPY a b\nEXPOSE x\nCOPY nothing /\nADD https://a/b /\n"
    (tmp_path / ".dockerignore").write_text("[\n")
    problems = refused(tmp_path, text, build_args={}, target=None)
    assert [problem.path for problem in problems] == [
        "Dockerfile:2",
        ".dockerignore:1",
        "Dockerfile:3",
        "Dockerfile:4",
        "Dockerfile:5",
    ]


@given(text=st.text(alphabet="FROM scratch\n\\#$'\"<E=[]-,1 COPYENV", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    dockerfile, problems = read(text)
    assert dockerfile.stages or problems
