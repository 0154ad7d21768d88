"""Files of a folder that are packed, and those that are rejected."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.build import build_package
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import collisions
from pulumi_vertex_training.packaging.package import Package
from support.emulated.other_user import reachable_folder, without_privileges

WriteTree = Callable[[str, Mapping[str, str]], Path]
CODE = {"task.py": "print()", "__init__.py": ""}


def packed(package: Package) -> set[str]:
    """Return the paths inside the package's folder, for a source named `trainer`."""
    assert not isinstance(package.content, Path)
    return {
        entry.path.removeprefix("trainer/") for entry in package.content if entry.path.startswith("trainer/")
    }


def messages(source: Path, **options: object) -> list[str]:
    with pytest.raises(PackagingError) as caught:
        build_package(source, **options)  # type: ignore[arg-type]
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return [str(problem) for problem in caught.value.problems]


LEFT_OUT = [
    "__pycache__/task.cpython-311.pyc", "sub/__pycache__/x.pyc", "old.pyc", "old.pyo", ".git/config",
    ".hidden", ".venv/lib/x.py", ".pytest_cache/v", ".mypy_cache/x.json", ".ruff_cache/x",
    ".ipynb_checkpoints/x.py", ".DS_Store", "Thumbs.db", "desktop.ini", "trainer.egg-info/PKG-INFO",
    "task.py~", ".task.py.swp",
    "task.py.swp", "#task.py#", ".#task.py", "node_modules/x/y.py", "dist/x.whl", "build/lib/x.py",
    "venv/lib/x.py", "sub/dist/x.py",
]  # fmt: skip


@pytest.mark.parametrize("path", LEFT_OUT)
def test_never_packed(tree: WriteTree, path: str) -> None:
    package = build_package(tree("trainer", {**CODE, "sub/keep.py": "", path: "x"}))
    assert packed(package) == {"task.py", "__init__.py", "sub/keep.py"}
    assert package.left_out == 1


def test_a_virtual_environment_of_any_name_is_left_out(tree: WriteTree) -> None:
    package = build_package(tree("trainer", {**CODE, "py311/pyvenv.cfg": "", "py311/lib/numpy.py": ""}))
    assert packed(package) == {"task.py", "__init__.py"}
    assert package.left_out == 1


@pytest.mark.parametrize("name", ["dist", "build", "venv"])
def test_a_package_may_have_the_name_of_a_build_folder(tree: WriteTree, name: str) -> None:
    package = build_package(tree("trainer", {**CODE, f"{name}/__init__.py": ""}))
    assert packed(package) == {"task.py", "__init__.py", f"{name}/__init__.py"}


KEPT = [
    "data.csv",
    "sub/model.json",
    "README",
    "distance.py",
    "sub/building.py",
    "a b.txt",
    "größe.py",
    "x.egg",
    "#1",
]


@pytest.mark.parametrize("path", KEPT)
def test_packed(tree: WriteTree, path: str) -> None:
    package = build_package(tree("trainer", {**CODE, path: ""}))
    assert packed(package) == {"task.py", "__init__.py", path}
    assert package.left_out == 0


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("data", {"notes.txt", "sub/x.csv"}),
        ("data/", {"notes.txt", "sub/x.csv"}),
        ("*.csv", {"notes.txt"}),
        ("data/*.csv", {"notes.txt", "sub/x.csv"}),
        ("sub/x.csv", {"notes.txt", "data/a.csv", "data/old/b.csv"}),
        ("nothing", {"notes.txt", "sub/x.csv", "data/a.csv", "data/old/b.csv"}),
    ],
)
def test_patterns_leave_out_more(tree: WriteTree, pattern: str, left: set[str]) -> None:
    files = {"data/a.csv": "", "data/old/b.csv": "", "notes.txt": "", "sub/x.csv": ""}
    assert packed(build_package(tree("trainer", {**CODE, **files}), exclude=[pattern])) == {*CODE, *left}


def test_links_that_stay_inside_are_stored_as_what_they_point_to(tree: WriteTree) -> None:
    root = tree("trainer", {**CODE, "sub/x.py": "print('x')"})
    (root / "link.py").symlink_to("sub/x.py")
    (root / "again").symlink_to(root / "sub")
    package = build_package(root)
    assert packed(package) == {"task.py", "__init__.py", "sub/x.py", "link.py", "again/x.py"}
    for file in root.rglob("*"):
        if file.is_symlink():
            file.unlink()
    tree("trainer", {"link.py": "print('x')", "again/x.py": "print('x')"})
    assert build_package(root) == package


def test_a_source_that_is_a_link_is_followed(tree: WriteTree, tmp_path: Path) -> None:
    root = tree("trainer", CODE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "trainer").symlink_to(root)
    assert build_package(tmp_path / "other" / "trainer") == build_package(root)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("../secret.txt", "is a link to ../secret.txt, outside the source."),
        ("/etc/passwd", "is a link to /etc/passwd, outside the source."),
        ("gone.py", "is a link to gone.py, which does not exist."),
        ("link", "is a link that leads back to itself."),
        (".", "is a link that leads back to itself."),
        ("sub", "is a link that leads back to itself."),
    ],
)
def test_other_links_are_refused(tree: WriteTree, target: str, message: str) -> None:
    root = tree("trainer", {**CODE, "sub/x.py": ""})
    (root.parent / "secret.txt").write_text("secret")
    link = root / "sub" / "link" if target == "sub" else root / "link"
    link.symlink_to(root / "sub" if target == "sub" else target)
    (problem,) = messages(root)
    assert problem.startswith(f"{link.relative_to(root)}: {message}")


def test_a_link_out_of_the_source_is_left_out_where_its_name_would_be(tree: WriteTree) -> None:
    root = tree("trainer", CODE)
    for name in (".venv", "venv", "cache.pyc"):
        (root / name).symlink_to("/usr")
    assert build_package(root).left_out == 3


def test_special_files_are_refused(tree: WriteTree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree("trainer", CODE)
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
    assert messages(root) == [
        "pipe: is a named pipe, not a file. Give a file, or leave it out.",
        "s: is a socket, not a file. Give a file, or leave it out.",
    ]
    assert build_package(root, exclude=["pipe", "s"]).left_out == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("new\nline.py", r"new\nline.py: is rejected: its name has a control character or a line break."),
        ("esc\x1b[31m.py", r"esc\x1b[31m.py: is rejected: its name has a control character or a line break."),
        ("line\u2028.py", r"line\u2028.py: is rejected: its name has a control character or a line break."),
        ("back\\slash.py", r"back\\slash.py: is rejected: its name has a backslash."),
        ("latin-\udce4.py", r"latin-\udce4.py: is rejected: its name is not UTF-8."),
    ],
)
@pytest.mark.parametrize("as_folder", [False, True])
def test_hostile_names_are_refused(tree: WriteTree, name: str, message: str, as_folder: bool) -> None:
    root = tree("trainer", CODE)
    if as_folder:
        (root / name).mkdir()
    else:
        (root / name).touch()
    (problem,) = messages(root)
    assert problem.startswith(message)


def test_names_that_differ_only_in_case_or_form_are_refused(tree: WriteTree) -> None:
    root = tree(
        "trainer", {**CODE, "Model.py": "", "model.py": "", "gr\u00f6sse.py": "", "gro\u0308sse.py": ""}
    )
    first, second = messages(root)
    assert first.startswith("trainer/gr\u00f6sse.py: differs from trainer/gro\u0308sse.py only in case")
    assert second.startswith("trainer/model.py: differs from trainer/Model.py only in case")


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a/x", "A/y"], ["a"]),
        (["a/x", "A/x", "A/y"], ["a"]),
        (["x/a/1", "x/A/2", "x/b"], ["x/a"]),
        (["a", "A/b"], ["a"]),
        (["a/x", "a/y", "b/x", "ab"], []),
        (["straße", "STRASSE"], ["straße"]),
    ],
)
def test_collisions(paths: list[str], found: list[str]) -> None:
    assert [problem.path for problem in collisions(paths)] == found


def test_all_problems_come_at_once(tree: WriteTree) -> None:
    root = tree("trainer", CODE)
    (root / "gone").symlink_to("nowhere")
    (root / "new\nline").touch()
    os.mkfifo(root / "sub-pipe")
    found = messages(
        root, name="-", version="one", requirements=["numpy>=", "ok"], extra_files={"../x": root}
    )
    assert [problem.partition(": ")[0] for problem in found] == [
        "gone", r"new\nline", "sub-pipe", "name", "version", "requirements[0]", "extra_files['../x']",
    ]  # fmt: skip


def test_too_much_is_refused_before_it_is_read(tree: WriteTree) -> None:
    root = tree("trainer", CODE)
    for name, size in (("sparse.bin", 3 << 40), ("train.npz", 3 << 29), ("small.csv", 7)):
        with (root / name).open("wb") as file:
            file.truncate(size)
    found = messages(root)
    assert found[0] == (
        "sparse.bin: has 3298534883328 bytes; a file in an archive has at most 8589934591. Leave it out."
    )
    assert found[1] == (
        "source: is larger than the limit of 512.0 MiB; the largest files are trainer/train.npz "
        "(1536.0 MiB), trainer/small.csv (7 bytes), trainer/task.py (7 bytes). Leave data out with exclude "
        "and upload it to the bucket, or raise the limit."
    )
    assert packed(build_package(root, exclude=["*.npz", "*.bin"])) == {*CODE, "small.csv"}


def test_the_limit_counts_headers_and_many_small_files(tree: WriteTree) -> None:
    root = tree("trainer", {**CODE, **{f"{number}.txt": "" for number in range(100)}})
    with pytest.raises(PackagingError, match="is larger than the limit of 20000 bytes"):
        build_package(root, limit=20_000)
    assert build_package(root, limit=100_000).size < 100_000


def test_what_cannot_be_read_is_named() -> None:
    with reachable_folder() as folder:
        root = folder / "trainer"
        (root / "closed").mkdir(parents=True)
        for name in ("task.py", "secret.py", "other.py"):
            (root / name).write_text("print()")
        (root / "secret.py").chmod(0)
        (root / "other.py").chmod(0)
        (root / "closed").chmod(0)
        try:
            with without_privileges():
                found = messages(root)
        finally:
            (root / "closed").chmod(0o755)
    assert [problem.partition(": ")[0] for problem in found] == ["closed", "other.py", "secret.py"]
    assert all("cannot be read: permission denied" in problem.lower() for problem in found)


def test_the_owners_execute_bit_is_kept(tree: WriteTree) -> None:
    root = tree("trainer", {**CODE, "run.sh": "#!/bin/sh\n"})
    (root / "run.sh").chmod(0o744)
    (root / "task.py").chmod(0o655)
    package = build_package(root)
    assert not isinstance(package.content, Path)
    assert [entry.path for entry in package.content if entry.executable] == ["trainer/run.sh"]
