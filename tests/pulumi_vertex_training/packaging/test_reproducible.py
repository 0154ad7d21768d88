"""The same tree gives the same bytes, another tree others."""

from __future__ import annotations

import io
import os
import random
import shutil
import tarfile
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.packaging.package import Package
from support.client.builds.packages import build_sdist
from support.properties import examples

NAME = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in ("dist", "build", "venv")
)
FILE = st.tuples(NAME, st.sampled_from([".py", ".json", ".txt"])).map("".join)
PATH = st.lists(NAME, max_size=2).flatmap(lambda parents: FILE.map(lambda file: "/".join([*parents, file])))
TREES = st.dictionaries(PATH, st.tuples(st.binary(max_size=80), st.booleans()), max_size=6)


def write(root: Path, files: dict[str, tuple[bytes, bool]], *, seed: int, umask: int) -> None:
    """Writes the files in an order, with times and permissions, that follow from the seed and the umask."""
    chance = random.Random(seed)
    before = os.umask(umask)
    try:
        root.mkdir()
        for path in chance.sample(sorted(files), len(files)):
            content, executable = files[path]
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod((0o777 if executable else 0o666) & ~umask)
            os.utime(file, (chance.randrange(10**9), chance.randrange(10**9)))
    finally:
        os.umask(before)


def contents(package: Package) -> bytes:
    return b"".join(package.chunks())


@settings(deadline=None, max_examples=examples(20))
@given(files=TREES, seed=st.integers(0, 99), umask=st.sampled_from([0o000, 0o002, 0o027, 0o077]))
def test_order_times_umask_and_place_do_not_show(
    files: dict[str, tuple[bytes, bool]], seed: int, umask: int
) -> None:
    files["task.py"] = (b"print()", False)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(one, "trainer"), files, seed=0, umask=0o022)
        write(Path(other, "trainer"), files, seed=seed + 1, umask=umask)
        first = build_sdist(Path(one, "trainer"))
        second = build_sdist(Path(other, "trainer"))
        assert contents(first) == contents(second)
        assert first == second


@settings(deadline=None, max_examples=examples(20))
@given(files=TREES, data=st.data())
def test_any_change_of_name_content_or_execute_bit_shows(
    files: dict[str, tuple[bytes, bool]], data: st.DataObject
) -> None:
    files["task.py"] = (b"print()", False)
    path = data.draw(st.sampled_from(sorted(files)))
    content, executable = files[path]
    changed = data.draw(
        st.sampled_from(
            [
                files | {path: (content + b"#", executable)},
                files | {path: (content, not executable)},
                files | {f"z{path}": (content, executable)},
                {name: value for name, value in files.items() if name != path}
                | {f"z{path}": (content, executable)},
            ]
        )
    )
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(one, "trainer"), files, seed=0, umask=0o022)
        write(Path(other, "trainer"), changed, seed=0, umask=0o022)
        assert build_sdist(Path(one, "trainer")).sha256 != build_sdist(Path(other, "trainer")).sha256


@settings(deadline=None, max_examples=examples(15))
@given(files=TREES)
def test_the_archive_holds_exactly_the_files(files: dict[str, tuple[bytes, bool]]) -> None:
    files["task.py"] = (b"print()", False)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "trainer"), files, seed=0, umask=0o022)
        data = contents(build_sdist(Path(folder, "trainer")))
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        modes = {member.name: member.mode for member in tar}
    expected = {f"trainer-0.1.0/trainer/{path}": 0o755 if run else 0o644 for path, (_, run) in files.items()}
    made = {f"trainer-0.1.0/{name}": 0o644 for name in ("setup.py", "PKG-INFO", "trainer/__init__.py")}
    assert modes == made | expected


def test_arguments_take_part_and_their_order_does_not(tmp_path: Path) -> None:
    script = tmp_path / "task.py"
    script.write_text("print()")
    plain = build_sdist(script).sha256
    assert build_sdist(script, requirements=["b", "a"]) == build_sdist(script, requirements=["a ", "b", "a"])
    others = [
        build_sdist(script, requirements=["a"]),
        build_sdist(script, version="0.2"),
        build_sdist(script, name="other"),
        build_sdist(script, extra_files={"helpers.py": script}),
    ]
    assert len({plain, *(package.sha256 for package in others)}) == 5


def test_a_copy_elsewhere_of_a_project_has_the_same_bytes(tmp_path: Path) -> None:
    project = tmp_path / "one"
    (project / "src" / "net").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "net"\nversion = "1"\n')
    (project / "src" / "net" / "task.py").write_text("print()")
    shutil.copytree(project, tmp_path / "another name")
    assert build_sdist(project) == build_sdist(tmp_path / "another name")
