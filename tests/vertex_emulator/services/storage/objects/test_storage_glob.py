"""matchGlob, and what else a listing can be asked for."""

from __future__ import annotations

import fnmatch
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.emulator import call
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.errors import StorageError
from vertex_emulator.services.storage.objects import glob


@every_row(
    ("pattern", "name", "matches"),
    [
        ("*.txt", "a.txt", True),
        ("*.txt", "d/a.txt", False),
        ("**.txt", "d/a.txt", True),
        ("**/a.txt", "a.txt", True),
        ("**/a.txt", "d/e/a.txt", True),
        ("d/**/a.txt", "d/a.txt", True),
        ("d/**/a.txt", "da.txt", False),
        ("d/**", "d/e/f", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]1", "b1", True),
        ("[a-c]1", "d1", False),
        ("[!a-c]1", "d1", True),
        ("[^a-c]1", "b1", False),
        ("[!a]", "/", False),
        ("[/]", "/", False),
        ("[.-0]", "/", False),
        ("[.-0]", ".", True),
        ("[+-9]", "0", True),
        ("a[\\]]b", "a]b", True),
        ("[a-]", "-", True),
        ("[-a]", "-", True),
        ("[a-b-]", "-", True),
        ("[\\a-c]", "b", True),
        ("[a,b]", ",", True),
        ("\\{a\\}", "{a}", True),
        ("a\\", "a\\", True),
        ("{a,b/c}.txt", "b/c.txt", True),
        ("{a,b}.txt", "c.txt", False),
        ("x{1,{2,3}}", "x3", True),
        ("{*,d/*}.txt", "d/q.txt", True),
        ("a,b", "a,b", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("a.c", "abc", False),
        ("a", "ab", False),
        ("a\n", "a", False),
        ("", "", True),
        ("é*", "éa", True),
    ],
)
def test_patterns(pattern: str, name: str, matches: bool) -> None:
    assert glob.compiled(pattern)(name) is matches


UNCLOSED = (
    "Glob pattern character class has no closing ']' for opening '[' at index {}. Either add a closing ']' "
    "or use '\\[' to match a literal '['."
)
BRACE = (
    "Glob pattern brace expansion opening '{{' at index {} has no closing '}}'. Use '\\{{' to match a "
    "literal '{{'."
)
CLOSED = (
    "Glob pattern brace expansion closing '}}' at index {} has no previous opening '{{'. Use '\\}}' to match "
    "a literal '}}'."
)
EMPTY = "Glob pattern character class at index {} must have at least one character in it."


@pytest.mark.parity("Cloud Storage: buckets and objects")
@every_row(
    ("pattern", "message"),
    [
        ("a[bc", UNCLOSED.format(1)),
        ("é[", UNCLOSED.format(2)),
        ("[{a}]", UNCLOSED.format(0)),
        ("{a,[}]}", UNCLOSED.format(3)),
        ("{[a,b]}", UNCLOSED.format(1)),
        ("[a\\", UNCLOSED.format(0)),
        ("a{b", BRACE.format(1)),
        ("{a,{b", BRACE.format(3)),
        ("a}", CLOSED.format(1)),
        ("[ab}", CLOSED.format(3)),
        ("[]", EMPTY.format(0)),
        ("[!]", EMPTY.format(0)),
        ("[^]", EMPTY.format(0)),
        ("[]a]", EMPTY.format(0)),
        (
            "a]",
            "Glob pattern had closing character class ']' at index 1 without any previous opening '['. "
            "Either add an opening '[' or use '\\]' to match ']'.",
        ),
        ("[z-a]", "Invalid range 'z-a' in glob pattern character class."),
        ("[ω-α]", "Invalid range 'ω-α' in glob pattern character class."),
        (
            "[[]",
            "Glob pattern character class does not support the unescaped '[' at index 1. Use '\\[' to match "
            "'['.",
        ),
    ],
)
def test_errors_have_the_words_of_google(pattern: str, message: str) -> None:
    with pytest.raises(StorageError) as refused:
        glob.compiled(pattern)
    assert (refused.value.status, refused.value.message) == (400, message)


@pytest.mark.parametrize("pattern", ["{" * 9 + "}" * 9, "?" * 300, "a" * 1025])
def test_patterns_are_bounded(pattern: str) -> None:
    with pytest.raises(StorageError, match="Invalid glob pattern"):
        glob.compiled(pattern)


PIECES = ["a", "b", "]", "!", "-", ".", "*", "?", "[ab]", "[!a]", "[a-b]", "[.-]", "[!-]", "[-a]", "[a-b.]"]


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.text(alphabet="ab]!-.", max_size=6))
def test_without_slashes_it_is_as_python_has_it(pieces: list[str], name: str) -> None:
    pattern = "".join("\\]" if piece == "]" else piece for piece in pieces)
    found = glob.compiled(pattern)(name)
    assert found == fnmatch.fnmatchcase(name, "".join(pieces))


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("a/b*", "a/b"),
        ("a?c", "a"),
        ("a[bc]", "a"),
        ("ab{c,d}", "ab"),
        ("a\\*", "a"),
        ("*", ""),
        ("a/b", "a/b"),
    ],
)
def test_the_literal_prefix(pattern: str, prefix: str) -> None:
    assert glob.literal_prefix(pattern) == prefix


MATCHING = {
    "a": "a",
    "b/": "b/",
    "?": "a",
    "*": "ab",
    "**": "a/b",
    "[ab]": "b",
    "[!a]": "b",
    "{a,b}": "b",
    "\\*": "*",
}


@given(st.lists(st.sampled_from(list(MATCHING)), max_size=6))
def test_what_matches_begins_with_the_literal_prefix(pieces: list[str]) -> None:
    pattern, name = "".join(pieces), "".join(MATCHING[piece] for piece in pieces)
    assert glob.compiled(pattern)(name)
    assert name.startswith(glob.literal_prefix(pattern))


@pytest.fixture
def listed(emulator: Daemon, bucket: Any) -> Any:
    for name in ("a/", "a/1.txt", "a/2.csv", "b/c/3.txt", "d.txt"):
        bucket.blob(name).upload_from_string("x")

    def found(query: str) -> tuple[list[str], list[str]]:
        names: list[str] = []
        prefixes: list[str] = []
        token = ""
        while True:
            path = f"/storage/v1/b/{bucket.name}/o?{query}&pageToken={token}"
            page = call(emulator.storage_url, "GET", path).json()
            names += [item["name"] for item in page.get("items", [])]
            prefixes += page.get("prefixes", [])
            if "nextPageToken" not in page:
                return names, prefixes
            token = page["nextPageToken"]

    return found


@pytest.mark.parametrize("size", [1, 2, 1000])
class TestListing:
    def test_a_glob(self, listed: Any, size: int) -> None:
        assert listed(f"maxResults={size}&matchGlob=**/*.txt") == (["a/1.txt", "b/c/3.txt", "d.txt"], [])

    def test_a_glob_and_a_delimiter(self, listed: Any, size: int) -> None:
        found = listed(f"maxResults={size}&matchGlob=**.txt&delimiter=/")
        assert found == (["d.txt"], ["a/", "b/"])

    def test_prefixes_without_a_match_are_left_out(self, listed: Any, size: int) -> None:
        assert listed(f"maxResults={size}&matchGlob=**.csv&delimiter=/") == ([], ["a/"])

    def test_a_trailing_delimiter(self, listed: Any, size: int) -> None:
        found = listed(f"maxResults={size}&delimiter=/&includeTrailingDelimiter=true")
        assert found == (["a/", "d.txt"], ["a/", "b/"])

    def test_offsets(self, listed: Any, size: int) -> None:
        assert listed(f"maxResults={size}&startOffset=a/2&endOffset=d") == (["a/2.csv", "b/c/3.txt"], [])

    def test_folders_as_prefixes_are_taken(self, listed: Any, size: int) -> None:
        found = listed(f"maxResults={size}&delimiter=/&includeFoldersAsPrefixes=true")
        assert found == (["d.txt"], ["a/", "b/"])


def test_a_glob_goes_with_no_other_delimiter(emulator: Daemon, bucket: Any) -> None:
    path = f"/storage/v1/b/{bucket.name}/o?matchGlob=*&delimiter=x"
    assert call(emulator.storage_url, "GET", path).status == 400


def test_storage_layout(emulator: Daemon, bucket: Any) -> None:
    layout = call(emulator.storage_url, "GET", f"/storage/v1/b/{bucket.name}/storageLayout").json()
    assert (layout["location"], layout["hierarchicalNamespace"]) == ("US-CENTRAL1", {"enabled": False})
