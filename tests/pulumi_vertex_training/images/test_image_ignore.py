"""Files that .dockerignore excludes: as Docker documents it, and as recorded from Docker's own code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.images.files import go_path
from pulumi_vertex_training.images.files.context import ignore_rules, read_context
from pulumi_vertex_training.images.files.ignore import read_ignore_file
from support.client.builds.built_images import write_files
from support.tables import every_row

ANSWERS = json.loads(Path(__file__).with_name("go_answers.json").read_text(encoding="utf-8"))
"""Answers of github.com/moby/patternmatcher and of Go's filepath.Match to hand-written and random cases."""


@every_row(("text", "out", "kept"), ANSWERS["ignore"], ids=repr)
def test_a_file_answers_as_dockers_code_does(text: str, out: list[str], kept: list[str]) -> None:
    rules, problems = read_ignore_file(text, ".dockerignore")
    assert not problems
    assert {path: rules.leaves_out(path) for path in [*out, *kept]} == dict.fromkeys(
        out, True
    ) | dict.fromkeys(kept, False)


@every_row(("pattern", "fitting", "others"), ANSWERS["match"], ids=repr)
def test_a_pattern_answers_as_gos_match_does(pattern: str, fitting: list[str], others: list[str]) -> None:
    answers = {name: go_path.match(pattern, name) for name in [*fitting, *others]}
    assert answers == dict.fromkeys(fitting, True) | dict.fromkeys(others, False)


DOCUMENTED = [
    pytest.param("*/temp*", "somedir/temporary.txt", True, id="one level down"),
    pytest.param("*/temp*", "temporary.txt", False, id="not at the top"),
    pytest.param("*/*/temp*", "somedir/subdir/temporary.txt", True, id="two levels down"),
    pytest.param("*/*/temp*", "somedir/temporary.txt", False, id="not one level down"),
    pytest.param("temp?", "tempa", True, id="one character"),
    pytest.param("temp?", "temp", False, id="no character"),
    pytest.param("**/*.go", "a/b/c.go", True, id="any depth"),
    pytest.param("**/*.go", "c.go", True, id="any depth, the top too"),
    pytest.param("# comment\n", "# comment", False, id="comment"),
    pytest.param("*.md\n!README.md", "README.md", False, id="exception"),
    pytest.param("/foo/bar", "foo/bar", True, id="leading slash"),
    pytest.param("foo/bar/", "foo/bar", True, id="trailing slash"),
    pytest.param("foo", "foo/bar/baz", True, id="what is in a folder"),
]
"""Check the examples of Docker's documentation, ".dockerignore files"."""


@pytest.mark.parametrize(("text", "path", "left_out"), DOCUMENTED)
def test_the_documented_cases(text: str, path: str, left_out: bool) -> None:
    rules, _ = read_ignore_file(text, ".dockerignore")
    assert rules.leaves_out(path) is left_out


@pytest.mark.parametrize("line", ["[", "!", "a\\", "[]", "[a-", r"**\y"])
def test_a_malformed_pattern_is_named_with_its_line(line: str) -> None:
    _, problems = read_ignore_file(f"fine\n{line}\n", ".dockerignore")
    assert [problem.path for problem in problems] == [".dockerignore:2"]


NAMES = st.lists(st.sampled_from(["a", "b", "ab", "a.py", "c"]), min_size=1, max_size=4).map("/".join)


@given(paths=st.lists(NAMES, min_size=1, max_size=6), path=NAMES)
def test_without_wildcards_it_is_a_prefix_of_names(paths: list[str], path: str) -> None:
    rules, _ = read_ignore_file("\n".join(paths), ".dockerignore")
    assert rules.leaves_out(path) == any(path == each or path.startswith(each + "/") for each in paths)


@given(path=NAMES)
def test_an_exception_after_everything_takes_in_again(path: str) -> None:
    rules, _ = read_ignore_file(f"**\n!{path}", ".dockerignore")
    assert not rules.leaves_out(path)


@given(text=st.text(alphabet="ab*?[]!\\/.^- #", max_size=20), path=NAMES)
def test_no_text_breaks_it(text: str, path: str) -> None:
    """Check that the last matching line decides, whatever comes before it."""
    everything, _ = read_ignore_file(f"{text}\n**", ".dockerignore")
    assert everything.leaves_out(path)
    but_one, _ = read_ignore_file(f"{text}\n**\n!{path}", ".dockerignore")
    assert not but_one.leaves_out(path)


def context_of(folder: Path, dockerfile: str | None = "Dockerfile", more: tuple[str, ...] = ()) -> list[str]:
    rules, problems = ignore_rules(folder, dockerfile, more)
    assert not problems
    return sorted(read_context(folder, rules).tree.nodes)


def test_a_folder_that_is_left_out_is_there_for_its_exceptions(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/keep/x": "", "a/drop/x": "", ".dockerignore": "a\n!a/keep"})
    assert context_of(tmp_path) == [".dockerignore", "a", "a/keep", "a/keep/x"]


def test_the_ignore_file_of_the_dockerfile_comes_first_and_alone(tmp_path: Path) -> None:
    files = {"a": "", "b": "", ".dockerignore": "a", "Dockerfile.dockerignore": "b\n*ockerignore"}
    assert context_of(write_files(tmp_path, files)) == ["a"]


def test_the_ignore_file_may_leave_out_itself_and_the_dockerfile(tmp_path: Path) -> None:
    files = {"a": "", "Dockerfile": "", ".dockerignore": "Dockerfile\n.dockerignore"}
    assert context_of(write_files(tmp_path, files)) == ["a"]


def test_more_patterns_count_after_the_file(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "", "b": "", ".dockerignore": "a\n.dockerignore"})
    assert context_of(tmp_path, more=("!a", "b")) == ["a"]


def test_bytecode_is_never_there(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "", "__pycache__/a.pyc": "", "b/__pycache__/c.pyc": ""})
    assert context_of(tmp_path) == ["a.py", "b"]
