"""Lock files: one version and hashes in every line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.images.wheels.requirements_lock import read_lock

H = "a" * 64
G = "b" * 64


def read(tmp_path: Path, text: str, python: str = "3.11") -> tuple[list[tuple[str, int]], list[str]]:
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    lock, problems = read_lock(path, python_version=python, platform="linux/amd64")
    return [(pin.requirement, len(pin.hashes)) for pin in lock.pins], [str(problem) for problem in problems]


HASH = f"--hash=sha256:{H}"
URL = "https://x/a-1-py3-none-any.whl"
GOOD = [
    pytest.param(f"a==1 --hash=sha256:{H}", [("a==1", 1)], id="one hash"),
    pytest.param(f"a==1 \\\n  --hash=sha256:{H} \\\n  --hash=sha256:{G}\n", [("a==1", 2)], id="two hashes"),
    pytest.param(f"a==1 --hash=sha256:{H} --hash=sha256:{H}", [("a==1", 1)], id="a hash twice"),
    pytest.param(f"a==1 --hash=sha256:{H}  # via b", [("a==1", 1)], id="comment"),
    pytest.param(f"a==1 \\\n    --hash=sha256:{H}\n    # via b\n", [("a==1", 1)], id="comment below"),
    pytest.param(f"b==1 {HASH}\n\nA==2 {HASH}", [("A==2", 1), ("b==1", 1)], id="sorted"),
    pytest.param(f"a[y,x]==1 --hash=sha256:{H}", [("a[x,y]==1", 1)], id="extras"),
    pytest.param(f"a==1 ; python_version < '3.11' --hash=sha256:{H}", [], id="marker of another Python"),
    pytest.param(f"a==1 ; sys_platform == 'win32' --hash=sha256:{H}", [], id="other system"),
    pytest.param(f"a==1 ; sys_platform == 'linux' --hash=sha256:{H}", [("a==1", 1)], id="it applies"),
    pytest.param(f"--only-binary :all:\na==1 --hash=sha256:{H}", [("a==1", 1)], id="option without effect"),
    pytest.param(f"a @ {URL} --hash=sha256:{H}", [(f"a @ {URL}", 1)], id="address"),
    pytest.param("", [], id="empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_what_is_locked(text: str, expected: list[tuple[str, int]], tmp_path: Path) -> None:
    assert read(tmp_path, text) == (expected, [])


BAD = [
    pytest.param("a==1", "requirements.txt:1: 'a==1' has no hash.", id="no hash"),
    pytest.param(
        f"\n\na>=1 --hash=sha256:{H}", "requirements.txt:3: 'a>=1' does not pin a single", id="range"
    ),
    pytest.param(f"a==1.* --hash=sha256:{H}", "does not pin a single", id="star"),
    pytest.param("a==1 --hash=md5:1", "has no hash", id="another hash"),
    pytest.param("a==1 --hash=sha256:1", "'1' is not a SHA-256", id="malformed hash"),
    pytest.param("-r other.txt", "'-r other.txt' cannot be part", id="another file"),
    pytest.param("-e .", "'-e .' cannot be part", id="editable"),
    pytest.param("./a.whl", "'./a.whl' is not a requirement", id="path"),
    pytest.param(f"a==1 --hash=sha256:{H}\nA==2 --hash=sha256:{H}", "a is required twice", id="twice"),
]


@pytest.mark.parametrize(("text", "part"), BAD)
def test_what_is_not_locked_is_named(text: str, part: str, tmp_path: Path) -> None:
    (problem,) = read(tmp_path, text)[1]
    assert part in problem


@pytest.mark.parametrize("line", ["-e git+https://tok@h/p", "p @ https://me:pw@h/p-1-py3-none-any.whl"])
def test_no_password_is_reported(line: str, tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text(line)
    _, (problem,) = read_lock(tmp_path / "lock.txt", python_version="3.11", platform="linux/amd64")
    assert "://****@h/p" in problem.message


def test_the_remedy_is_named(tmp_path: Path) -> None:
    (problem,) = read(tmp_path, "a==1")[1]
    assert "`uv pip compile --generate-hashes` or `pip-compile --generate-hashes`" in problem


def test_all_lines_are_named_at_once(tmp_path: Path) -> None:
    assert len(read(tmp_path, "a==1\nb\n-e .\n")[1]) == 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    _, problems = read_lock(tmp_path / "none.txt", python_version="3.11", platform="linux/amd64")
    (problem,) = problems
    assert (problem.path, "none.txt does not exist. Give the path" in problem.message) == (
        "requirements",
        True,
    )


def test_where_to_look_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("--index-url https://mirror/simple\n")
    lock, _ = read_lock(path, python_version="3.11", platform="linux/amd64")
    assert lock.options == ("--index-url https://mirror/simple",)
