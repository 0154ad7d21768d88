"""Wheels of a lock file as a layer. pip runs for real, on a folder of wheels."""

from __future__ import annotations

import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pulumi_vertex_training.images import (
    BuiltImage,
    ImageSource,
    Wheel,
    WheelFolder,
    build_image,
    fetch_wheels,
    plan_image,
)
from pulumi_vertex_training.images.wheels.fetching import platform_tags
from pulumi_vertex_training.images.wheels.wheel_layer import write_wheel_layer
from pulumi_vertex_training.packaging.errors import PackagingError
from support.builds.wheels import locked, make_wheel, sha256
from support.client.builds.built_images import (
    BASE_NAME,
    base_image,
    config_of,
    contents,
    entries,
    write_files,
)

SITE = "opt/vertex-training/site-packages"


def fetched(folder: Path, text: str, *, python: str = "3.11", platform: str = "linux/amd64") -> WheelFolder:
    lock = folder / "requirements.txt"
    lock.write_text(text)
    return fetch_wheels(lock, python, platform, folder / "wheels", find_links=str(folder / "index"))


def held(folder: Path, *wheels: Path) -> WheelFolder:
    """Return the wheels with their lock. Skips pip, which takes seconds."""
    (folder / "requirements.txt").write_text(locked(*wheels))
    found = tuple(Wheel(path=wheel, sha256=sha256(wheel)) for wheel in wheels)
    return WheelFolder(wheels=found, python_version="3.11", platform="linux/amd64")


def refused(folder: Path, text: str, **options: str) -> str:
    with pytest.raises(PackagingError) as caught:
        fetched(folder, text, **options)
    (problem,) = caught.value.problems
    assert problem.path == "requirements.txt"
    return problem.message


def image_of(folder: Path, wheels: WheelFolder, *, dockerfile: str | None = None) -> BuiltImage:
    write_files(
        folder / "c", {"task.py": "import tiny\n", **({"Dockerfile": dockerfile} if dockerfile else {})}
    )
    source = ImageSource(
        source=folder / "c",
        dockerfile="Dockerfile" if dockerfile else None,
        base_image=None if dockerfile else BASE_NAME,
        requirements=folder / "requirements.txt",
        python_version=wheels.python_version,
        platform=wheels.platform,
    )
    base = base_image(settings={"Env": ["PATH=/bin", "PYTHONPATH=/mine"]})
    plan = plan_image(source)
    assert plan.needs_wheels
    (folder / "out").mkdir()
    return build_image(plan, {base.name: base}, write_wheel_layer(wheels, folder / "out"), folder / "out")


def test_a_wheel_is_fetched_and_held_to_its_hash(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "index")
    (found,) = fetched(tmp_path, locked(wheel)).wheels
    assert (found.path, found.sha256) == (tmp_path / "wheels" / wheel.name, sha256(wheel))
    assert found.path.read_bytes() == wheel.read_bytes()


def test_the_wheel_of_the_platform_is_chosen(tmp_path: Path) -> None:
    tags = (
        "cp311-cp311-manylinux_2_17_x86_64",
        "cp311-cp311-manylinux_2_17_aarch64",
        "cp312-cp312-manylinux1_x86_64",
    )
    wheels = [make_wheel(tmp_path / "index", tag=tag) for tag in tags]
    text = f"tiny==1.0 {' '.join(f'--hash=sha256:{sha256(wheel)}' for wheel in wheels)}"
    chosen = [
        fetched(tmp_path, text, python=python, platform=platform).wheels[0].path.name
        for python, platform in (("3.11", "linux/amd64"), ("3.11", "linux/arm64"), ("3.12", "linux/amd64"))
    ]
    assert chosen == [wheel.name for wheel in wheels]


def test_markers_are_decided_for_the_image(tmp_path: Path) -> None:
    old, new = make_wheel(tmp_path / "index", "old"), make_wheel(tmp_path / "index", "new")
    lines = locked(old).replace("==1.0", "==1.0 ; python_version < '3.5'") + locked(new)
    assert [wheel.path.name for wheel in fetched(tmp_path, lines).wheels] == [new.name]


FAULTS = [
    pytest.param("tiny==2.0", "tiny==2.0 has no wheel for this Python", id="version that is not there"),
    pytest.param("other==1.0", "other==1.0 has no wheel for this Python", id="name that is not there"),
    pytest.param("built==1.0", "built==1.0 has no wheel for this Python", id="sources alone"),
]


@pytest.mark.parametrize(("requirement", "part"), FAULTS)
def test_what_pip_says_becomes_one_sentence(requirement: str, part: str, tmp_path: Path) -> None:
    make_wheel(tmp_path / "index")
    (tmp_path / "index" / "built-1.0.tar.gz").write_bytes(b"")
    message = refused(tmp_path, f"{requirement} --hash=sha256:{'0' * 64}\n")
    assert part in message
    assert "\n" not in message


def test_an_index_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "1")
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        lock = tmp_path / "requirements.txt"
        lock.write_text(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}/simple"
        with pytest.raises(PackagingError, match=r"^requirements\.txt: the package index does not respond\."):
            fetch_wheels(lock, "3.11", "linux/amd64", tmp_path / "wheels", index_url=url)


def test_a_folder_of_wheels_is_relative_to_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    lock = tmp_path / "lock.txt"
    lock.write_text("--no-index\n--find-links our wheels\n" + locked(make_wheel(tmp_path / "our wheels")))
    (wheel,) = fetch_wheels(lock, "3.11", "linux/amd64", tmp_path / "out").wheels
    assert wheel.path.name == "tiny-1.0-py3-none-any.whl"


def test_the_password_of_an_index_is_not_reported(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("--index-url https://me:s3cret@example.com/simple --odd\n" + locked(make_wheel(tmp_path)))
    with pytest.raises(PackagingError) as caught:
        fetch_wheels(lock, "3.11", "linux/amd64", tmp_path / "out")
    assert "https://****@example.com/simple --odd" in str(caught.value)


def test_other_bytes_than_locked_are_refused(tmp_path: Path) -> None:
    make_wheel(tmp_path / "index")
    message = refused(tmp_path, f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    assert "the file is not the locked one" in message
    assert list((tmp_path / "wheels").iterdir()) == []


def test_the_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build it without bytecode, whose bytes depend on the release of Python."""
    wheel = make_wheel(tmp_path / "index", scripts="tiny = tiny.cli:App.main")
    monkeypatch.setenv("PATH", "")
    image = image_of(tmp_path, fetched(tmp_path, locked(wheel), python="3.7"))
    assert image.digest == "sha256:5eef6e62e56ed068ef62c3bc434fe98c102fe523e0b43f231599d511a51d8304"
    found = contents(image)
    assert found[f"{SITE}/tiny/__init__.py"] == "NAME = 'tiny'\n"
    assert found["opt/vertex-training/bin/tiny"].startswith(
        "#!/usr/bin/env python3\nimport sys\nfrom tiny.cli"
    )
    assert entries(image)["opt/vertex-training/bin/tiny"].mode == 0o755
    assert sorted(found) == [
        "opt/vertex-training/bin/tiny",
        f"{SITE}/tiny-1.0.dist-info/INSTALLER",
        f"{SITE}/tiny-1.0.dist-info/METADATA",
        f"{SITE}/tiny-1.0.dist-info/RECORD",
        f"{SITE}/tiny-1.0.dist-info/WHEEL",
        f"{SITE}/tiny-1.0.dist-info/entry_points.txt",
        f"{SITE}/tiny/__init__.py",
        "usr/app/task.py",
    ]


def test_the_wheels_come_first_on_the_paths(tmp_path: Path) -> None:
    image = image_of(tmp_path, held(tmp_path, make_wheel(tmp_path / "index")))
    assert config_of(image)["Env"] == [
        "PATH=/opt/vertex-training/bin:/bin",
        f"PYTHONPATH=/{SITE}:/mine",
    ]


def test_with_a_dockerfile_the_layer_is_the_last(tmp_path: Path) -> None:
    wheels = held(tmp_path, make_wheel(tmp_path / "index"))
    image = image_of(tmp_path, wheels, dockerfile=f"FROM {BASE_NAME}\nCOPY task.py /\n")
    assert next(iter(contents(image))) == "task.py"
    assert config_of(image)["Env"][1].startswith(f"PYTHONPATH=/{SITE}")


def test_a_python_finds_the_module_and_the_distribution_and_runs_the_script(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path / "index",
        files={"tiny/__init__.py": "def main(): print('from the script')\n"},
        scripts="tiny = tiny:main",
    )
    image = image_of(tmp_path, held(tmp_path, wheel))
    root = tmp_path / "root"
    write_files(root, contents(image))
    code = (
        "import tiny, importlib.metadata as m; print(tiny.__file__, len(m.files('tiny')), m.version('tiny'))"
    )
    env = {"PYTHONPATH": str(root / SITE), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{root / SITE}/tiny/__init__.py 7 1.0\n"
    script = [sys.executable, str(root / "opt/vertex-training/bin/tiny")]
    run = subprocess.run(script, env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "from the script\n"


def test_the_record_tells_what_is_there(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "index", scripts="tiny = tiny:main")
    image = image_of(tmp_path, held(tmp_path, wheel))
    record = contents(image)[f"{SITE}/tiny-1.0.dist-info/RECORD"].splitlines()
    assert [line.partition(",")[0] for line in record] == [
        "../bin/tiny",
        "tiny-1.0.dist-info/INSTALLER",
        "tiny-1.0.dist-info/METADATA",
        "tiny-1.0.dist-info/RECORD",
        "tiny-1.0.dist-info/WHEEL",
        "tiny-1.0.dist-info/entry_points.txt",
        "tiny/__init__.py",
    ]


def test_of_two_wheels_with_a_file_the_later_name_counts(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "index", name, files={"same.py": name}) for name in ("beta", "alpha")]
    image = image_of(tmp_path, held(tmp_path, *wheels))
    assert contents(image)[f"{SITE}/same.py"] == "beta"


def test_start_up_files_are_warned_of(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "index", files={"tiny.pth": "import tiny"})
    image = image_of(tmp_path, held(tmp_path, wheel))
    assert [problem.level for problem in image.problems] == ["warning"]
    assert "has tiny.pth, which has no effect on PYTHONPATH" in image.problems[0].message


def test_a_file_that_leads_out_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "index", files={"../../../evil.py": ""})
    wheels = held(tmp_path, wheel)
    with pytest.raises(PackagingError, match=r"tiny-1\.0-py3-none-any\.whl: cannot be installed"):
        image_of(tmp_path, wheels)


def test_a_wheel_that_changed_since_is_refused(tmp_path: Path) -> None:
    wheels = held(tmp_path, make_wheel(tmp_path / "index"))
    with zipfile.ZipFile(wheels.wheels[0].path, "a") as archive:
        archive.writestr("more.py", "")
    with pytest.raises(PackagingError, match="its bytes have changed since the download"):
        image_of(tmp_path, wheels)


def test_the_newest_platform_tag_comes_first() -> None:
    tags = platform_tags("linux/arm64")
    assert (tags[0], tags[-2:]) == ("manylinux_2_31_aarch64", ("manylinux2014_aarch64", "linux_aarch64"))
