"""Reading files: what they may hold, and one clean finding for whatever else is in them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli import files, yaml_text
from pulumi_vertex_training.cli.plain_values import MAX_DEPTH, MAX_VALUES, TextError
from support import properties  # noqa: F401
from support.emulated.other_user import reachable_folder, without_privileges
from support.tables import every_row
from vertex_training.command_line.errors import BAD_INPUT, InputError


def deep(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


GOOD: list[tuple[str, str, str, Any]] = [
    ("json", "a.json", '{"a": [1, 2.5, "x", true, null]}', {"a": [1, 2.5, "x", True, None]}),
    ("json without a suffix", "job", '{"a": 1}', {"a": 1}),
    ("a list", "a.json", "[1]", [1]),
    ("json with tabs", "a.yaml", '{\n\t"a":\t1\n}', {"a": 1}),
    ("json with a pair of surrogates", "a.yaml", r'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
    ("a comma too many outside .json", "a.yaml", '{"a": 1,}', {"a": 1}),
    ("yaml in braces", "a.yaml", "{a: 1}", {"a": 1}),
    ("yaml", "a.yaml", "a:\n- 1\n- b: x\n", {"a": [1, {"b": "x"}]}),
    ("one document with its marks", "a.yaml", "%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ("a byte order mark", "a.yaml", "\ufeffa: 1", {"a": 1}),
    ("a byte order mark before json", "a.json", '\ufeff{"a": 1}', {"a": 1}),
    ("windows line ends", "a.yaml", "a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ("null is nothing", "a.yaml", "[~, null, NULL, ]", [None, None, None]),
    ("booleans", "a.yaml", "[true, False, TRUE]", [True, False, True]),
    ("no is a word", "a.yaml", "[no, yes, on, off, y]", ["no", "yes", "on", "off", "y"]),
    ("a date is a text", "a.yaml", "a: 2026-01-02", {"a": "2026-01-02"}),
    ("a time is a text", "a.yaml", "a: 12:30:45", {"a": "12:30:45"}),
    ("grouped digits are a text", "a.yaml", "a: 1_000", {"a": "1_000"}),
    ("a leading zero changes nothing", "a.yaml", "a: 010", {"a": 10}),
    ("other bases", "a.yaml", "[0o10, 0x1F]", [8, 31]),
    ("numbers", "a.yaml", "[-1, +2, .5, 1., 1e3]", [-1, 2, 0.5, 1.0, 1000.0]),
    ("quotes make a text", "a.yaml", "['1', \"true\", '']", ["1", "true", ""]),
    ("a block of text", "a.yaml", "a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    ("keys are texts", "a.yaml", "1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "~": "c"}),
    ("an alias", "a.yaml", "a: &x {n: 1}\nb: *x", {"a": {"n": 1}, "b": {"n": 1}}),
    ("an alias as a key", "a.yaml", "&k a: 1\nb: {*k : 2}", {"a": 1, "b": {"a": 2}}),
    ("an anchor used again", "a.yaml", "[&x 1, *x, &x 2, *x]", [1, 1, 2, 2]),
    (
        "a merge",
        "a.yaml",
        "a: &x {n: 1, m: 1}\nb: {m: 2, <<: *x}",
        {"a": {"n": 1, "m": 1}, "b": {"n": 1, "m": 2}},
    ),
    ("a merge of several", "a.yaml", "<<: [{n: 1}, {n: 2, m: 2}]", {"n": 1, "m": 2}),
    ("a quoted << merges nothing", "a.yaml", "'<<': {n: 1}", {"<<": {"n": 1}}),
    (
        "tags of the core schema",
        "a.yaml",
        "[!!str 1, !!int 1, !!float 1.5, !!null ~, ! 1]",
        ["1", 1, 1.5, None, "1"],
    ),
    ("tags of collections", "a.yaml", "!!map {a: !!seq [1]}", {"a": [1]}),
    ("a scalar", "a.yaml", "hello", "hello"),
    ("as deep as may be", "a.json", deep("[", "]", 100), json.loads(deep("[", "]", 100))),
    ("as deep as may be in yaml", "a.yaml", deep("[", "]", 100), json.loads(deep("[", "]", 100))),
]


@pytest.mark.parametrize(("name", "text", "value"), [g[1:] for g in GOOD], ids=[g[0] for g in GOOD])
def test_what_a_file_may_hold(tmp_path: Path, name: str, text: str, value: Any) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    read = files.read(str(path))
    assert read == value
    assert json.dumps(read) == json.dumps(value)  # True is not 1


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
DEEP_ALIASES = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, MAX_DEPTH + 1))

BAD: list[tuple[str, str, bytes | str, list[str]]] = [
    ("an empty file", "a.yaml", "", ["the file is empty"]),
    ("blanks only", "a.json", " \n\t\n", ["the file is empty"]),
    ("a comment only", "a.yaml", "# nothing\n", ["only null or comments"]),
    ("null", "a.json", "null", ["only null"]),
    ("marks only", "a.yaml", "---\n...\n", ["only null"]),
    (
        "a key twice in yaml",
        "a.yaml",
        "a: 1\nb:\n  c: 1\n  c: 2\n",
        ["line 4, column 3", "the key 'c' is given twice"],
    ),
    (
        "a key twice in json",
        "a.json",
        '{"b": {"c": 1,\n "c": 2}}',
        ["line 2, column 2", "the key 'c' is given twice"],
    ),
    ("a key twice in json by escapes", "a.json", r'{"c": 1, "\u0063": 2}', ["column 10", "the key 'c'"]),
    ("an equal value is no key", "a.json", '{"c": "c", "d": "c", "d": 1}', ["column 22", "the key 'd'"]),
    ("a key twice in braces of yaml", "a.yaml", "{c: 1, c: 2}", ["line 1, column 8", "the key 'c'"]),
    ("two merges", "a.yaml", "<<: {a: 1}\n<<: {b: 1}", ["line 2, column 1", "'<<' is given twice"]),
    ("a merge of no mapping", "a.yaml", "a: 1\n<<: 5", ["line 2, column 5", "<< merges mappings"]),
    (
        "a python object",
        "a.yaml",
        "a: !!python/object/apply:os.system [ls]",
        ["column 4", "'!!python/object/apply:os.system'", "is not supported"],
    ),
    (
        "a python name",
        "a.yaml",
        "a: !!python/name:os.system ''",
        ["'!!python/name:os.system'", "is not supported"],
    ),
    ("a tag of one's own", "a.yaml", "a: !secret x", ["column 4", "the tag '!secret'"]),
    ("a tag on a key", "a.yaml", "!!int 1: x", ["column 1", "the tag '!!int'"]),
    ("a date by tag", "a.yaml", "a: !!timestamp 2026-01-01", ["the tag '!!timestamp'"]),
    ("a tag that lies", "a.yaml", "a: !!int x", ["'x' does not fit its tag '!!int'"]),
    ("a boolean as a number", "a.yaml", "a: !!int true", ["'true' does not fit its tag '!!int'"]),
    ("NaN in json", "a.json", '{"a":\n NaN}', ["line 2, column 2", "NaN is not a number in JSON"]),
    ("NaN in json without a suffix", "job", '{"a": NaN}', ["NaN is not a number"]),
    ("minus infinity in json", "a.json", "[-Infinity]", ["column 2", "-Infinity is not a number"]),
    ("a number past the end", "a.json", "[1, 1e999]", ["column 5", "1e999 is not a number in JSON"]),
    ("nan in yaml", "a.yaml", "a: .nan", ["column 4", ".nan is not a number"]),
    ("infinity in yaml", "a.yaml", "a: -.inf", ["column 4", "-.inf is not a number"]),
    ("a number past the end in yaml", "a.yaml", "a: 1e999", ["1e999 is not a number"]),
    ("5,000 digits in json", "a.json", "[" + "9" * 5000 + "]", ["column 2", "a number of 5000 digits"]),
    ("5,000 digits in yaml", "a.yaml", "a: " + "9" * 5000, ["column 4", "a number of 5000 digits"]),
    ("half a character", "a.json", '{"a": "\\ud800"}', ["column 7", "half a character"]),
    ("half a character in a key", "a.json", '{"\\udc00": 1}', ["column 2", "half a character"]),
    ("deep json", "a.json", deep("[", "]", MAX_DEPTH + 1), [f"column {MAX_DEPTH + 1}", "100 levels deep"]),
    (
        "a value below deep json",
        "a.json",
        "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH,
        [f"column {MAX_DEPTH + 1}", "100 levels deep"],
    ),
    ("deep yaml", "a.yaml", deep("[", "]", MAX_DEPTH + 1), [f"column {MAX_DEPTH + 1}", "100 levels deep"]),
    ("very deep json", "a.json", deep("[", "]", 200_000), [f"column {MAX_DEPTH + 1}", "100 levels deep"]),
    ("very deep json, never closed", "a.json", '{"a":' * 200_000, ["100 levels deep"]),
    ("very deep yaml", "a.yaml", deep("[", "]", 200_000), [f"column {MAX_DEPTH + 1}", "100 levels deep"]),
    ("deep yaml without brackets", "a.yaml", "- " * 5000 + "x", ["100 levels deep"]),
    (
        "a billion laughs",
        "a.yaml",
        LAUGHS,
        ["line 5", "with aliases expanded, more than 50,000 values"],
    ),
    ("deep by aliases", "a.yaml", DEEP_ALIASES, ["100 levels deep"]),
    ("itself", "a.yaml", "a: &x [1, *x]", ["line 1, column 11", "*x is inside &x itself"]),
    ("itself as a mapping", "a.yaml", "&x {a: {b: *x}}", ["*x is inside &x itself"]),
    ("itself by a merge", "a.yaml", "&x\n<<: *x", ["*x is inside &x itself"]),
    ("an alias of nothing", "a.yaml", "a: *nobody", ["column 4", "*nobody has no anchor"]),
    ("two documents", "a.yaml", "a: 1\n---\nb: 1", ["line 2, column 1", "a second document begins here"]),
    ("a second, empty document", "a.yaml", "a: 1\n---\n", ["line 2, column 1", "a second document"]),
    ("a list as a key", "a.yaml", "? [a]\n: 1", ["line 1, column 3", "cannot be a key"]),
    ("an alias of a list as a key", "a.yaml", "a: &x [1]\n*x : 1", ["line 2, column 1", "cannot be a key"]),
    ("no yaml", "a.yaml", "a: b: c", ["line 1, column 5", "this is not YAML"]),
    ("an open bracket", "a.yaml", "a: [1", ["this is not YAML", "while parsing a flow sequence"]),
    ("a tab in yaml", "a.yaml", "a:\n\t- 1", ["line 2, column 1: a tab; indent YAML with spaces."]),
    ("another yaml", "a.yaml", "%YAML 2.0\n---\na: 1", ["this is not YAML"]),
    ("no json", "a.json", '{"a": 1\n "b": 2}', ["line 2, column 2", "this is not JSON", "',' delimiter"]),
    (
        "a comment",
        "a.json",
        '{\n // pools\n "a": 1}',
        ["line 2, column 2", "comments are not allowed; remove them"],
    ),
    ("a comment behind a value", "a.json", '{"a": /* one */ 1}', ["column 7", "comments are not allowed"]),
    ("yaml called json", "a.json", "a: 1", ["line 1, column 1", "this is not JSON"]),
    ("broken json that is no yaml either", "job", '{"a": 1,\n "b": "2}', ["line 2, column 7", "not JSON"]),
    ("UTF-16", "a.yaml", "a: 1".encode("utf-16"), ["the file is UTF-16", "save it as UTF-8"]),
    ("Latin-1", "a.yaml", b"a: 1\nb: caf\xe9\n", ["line 2, column 7", "the byte 0xe9 is not UTF-8"]),
    ("a picture", "a.yaml", b"\x89PNG\r\n\x1a\n\x00", ["line 1, column 1", "0x89"]),
    ("a bell", "a.yaml", "a: 1\nb: \x07", ["line 2, column 4", "U+0007 is not allowed"]),
    ("a NUL", "a.json", '{"a": "\x00"}', ["column 8", "this is not JSON: invalid control character"]),
    ("a large file", "a.yaml", b"#" * (files.MAX_BYTES + 1), ["more than 16 MiB"]),
    ("many values in json", "a.json", "[" + "1," * MAX_VALUES + "1]", ["more than 50,000 values"]),
    ("many values in yaml", "a.yaml", "[" + "1," * MAX_VALUES + "1]", ["more than 50,000 values"]),
]


@pytest.mark.parametrize(("name", "data", "said"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_whatever_else_is_one_finding(tmp_path: Path, name: str, data: bytes | str, said: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(InputError) as raised:
        files.read(str(path), argument="OLD")
    message = str(raised.value)
    assert message.startswith(str(path))
    assert (raised.value.path, raised.value.exit_code) == ("OLD", BAD_INPUT)
    assert "\n" not in message and message.endswith(".")
    assert len(message) < len(str(path)) + 250
    for words in said:
        assert words in message


def test_what_is_no_file(tmp_path: Path) -> None:
    for name, said in [
        (tmp_path / "missing.yaml", "the file does not exist; `-` reads standard input"),
        (tmp_path, "this is a folder"),
        (tmp_path / "x" / "y", "the file does not exist"),
        (Path(__file__) / "y", "it cannot be read: Not a directory"),
        (tmp_path / ("x" * 5000), "it cannot be read: File name too long"),
        (Path("/dev/zero"), "it is a device"),
        (Path(os.devnull), "the file is empty"),
        (Path("a\0b"), "this is not a valid file name"),
    ]:
        with pytest.raises(InputError, match=said):
            files.read(str(name))


LONG = "gcloud ai \\\n  custom-jobs \\\r\n  create --config: x"
COMMAND = "gcloud ai custom-jobs create --region=r --args=^;^a,b;c"


@every_row(
    "text, command",
    [
        (f"{COMMAND}\n", COMMAND),
        (f"  $ {COMMAND}", COMMAND),
        (f"set -e\nexport REGION=r\nNAME='a b'\n{COMMAND}\n", COMMAND),
        (f"# A comment.\n\n{COMMAND}\n# the end", COMMAND),
        (f"#!/bin/bash\nset -e\nexport REGION=r\n\n{COMMAND}\necho done\n", COMMAND),
        (
            "gcloud ai \\\n  custom-jobs \\\r\n  create --config: x\n",
            "gcloud ai \\\n  custom-jobs \\\r\n  create --config: x",
        ),
    ],
)
def test_a_command_of_a_shell_is_read_as_one(tmp_path: Path, text: str, command: str) -> None:
    path = tmp_path / "train.sh"
    path.write_text(text, newline="")
    assert files.read(str(path)) == {"gcloud": command}


def test_several_commands_are_refused_and_json_stays_json(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(f"{COMMAND}\n{COMMAND}\n")
    with pytest.raises(InputError, match="the file has 2 gcloud commands; keep one of them"):
        files.read(str(path))
    (tmp_path / "train.json").write_text(COMMAND)
    with pytest.raises(InputError, match="this is not JSON"):
        files.read(str(tmp_path / "train.json"))


def test_a_file_without_permission() -> None:
    with reachable_folder() as folder:
        path = folder / "job.yaml"
        path.write_text("a: 1")
        path.chmod(0)
        with without_privileges(), pytest.raises(InputError, match="you do not have permission to read it"):
            files.read(str(path))


_READ_STANDARD_INPUT = """
from pulumi_vertex_training.cli import files
from vertex_training.command_line.errors import InputError
try:
    print(files.read("-"))
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(b"a: [1]", "{'a': [1]}", id="yaml"),
        pytest.param(b"a: [", "standard input, line 2, column 1: this is not YAML", id="no yaml"),
        pytest.param(None, "standard input: it is closed; give a file", id="closed"),
    ],
)
def test_standard_input(given: bytes | None, said: str) -> None:
    redirected = 'exec "$@"' + (" <&-" if given is None else "")
    done = subprocess.run(
        ["sh", "-c", redirected, "sh", sys.executable, "-c", _READ_STANDARD_INPUT],
        input=given,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().startswith(said)


def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    """Read a pipe, as of a shell's <(command)."""
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    try:
        assert files.read(f"/dev/fd/{reading}") == {"a": 1}
    finally:
        os.close(reading)


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text()
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=VALUES)
def test_json_reads_what_json_writes(value: Any) -> None:
    assert files.read_json(json.dumps(value)) == value
    assert files.read_json(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(value=VALUES)
def test_yaml_reads_json(value: Any) -> None:
    """Read JSON as YAML, except for characters that YAML must escape, and escaped surrogates."""
    text = json.dumps(value)
    try:
        assert yaml_text.read(text) == value
    except TextError as error:
        assert "\\u" in text or len(text) > 1000, error


WORDS = st.sampled_from(
    [
        "a",
        "1",
        ": ",
        ":",
        "\n",
        "  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        '"',
        "'",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "!x ",
        "? ",
        "|",
        ">",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\\u",
        "d800",
        ".nan",
        "1e999",
        "~",
        "\t",
    ]
)


@given(words=st.lists(WORDS | st.text(max_size=3), max_size=25))
def test_any_text_gives_plain_values_or_one_finding(words: list[str]) -> None:
    text = "".join(words).encode(errors="ignore").decode()
    for reader in (files.read_json, yaml_text.read):
        try:
            value = reader(text)
        except TextError as error:
            assert str(error) and "\n" not in str(error)
            assert error.line <= text.count("\n") + 2
        else:
            assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_every_number_is_finite() -> None:
    assert math.isfinite(files.read_json("1.7976931348623157e308"))
