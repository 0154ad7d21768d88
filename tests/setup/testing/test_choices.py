"""The tests of a run: its queue, the sample of slow tests, and the tests of what has changed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.report import ChoreError
from scripts.testing import changed, command, memory, queue
from scripts.testing.queue import Entry

GENERATED = "tests/setup/checks/test_generated_files.py"


def test_the_queue_has_each_file_once_the_longest_folders_first(root: Path) -> None:
    files = queue.test_files(root)
    found = queue.entries(root, files, marks=queue.FAST, seed=17)
    assert sorted(entry.file for entry in found) == files
    assert len(files) > 400
    assert found[0].file.endswith("/test_kills_everywhere.py")
    folders = [entry.file.split("/")[1] for entry in found[1:]]
    assert folders[0] == "examples" and folders.index("engine") < folders.index("ui") < folders.index(
        "vertex_training"
    )


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        pytest.param("0::/\n", {}, 6, id="no group"),
        pytest.param("0::/run\n", {"run/memory.max": "max"}, 6, id="no limit"),
        pytest.param("0::/run\n", {"run/memory.max": str(2 << 30)}, 2, id="2"),
        pytest.param(
            "9:memory:/run\n", {"memory/run/memory.limit_in_bytes": str(3 << 30)}, 3, id="version 1"
        ),
        pytest.param(
            "9:memory:/docker/a\n", {"memory/memory.limit_in_bytes": str(1 << 29)}, 0, id="container"
        ),
    ],
)
def test_the_limit_of_a_control_group_is_the_memory_that_is_available(
    tmp_path: Path, groups: str, limits: Mapping[str, str], expected: int
) -> None:
    """Compare in gibibytes, rounded down. The machine has 6 of them."""
    assert memory.available(proc=tmp_path, groups=tmp_path) is None
    meminfo = f"MemFree: 1 kB\nMemAvailable:  {6 << 20} kB\n"
    for name, text in {"meminfo": meminfo, "self/cgroup": groups, **limits}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = memory.available(proc=tmp_path, groups=tmp_path)
    assert found is not None and found >> 30 == expected


def test_where_memory_is_short_fewer_processes_run_tests() -> None:
    usual = command._number_of_processes(None)
    assert usual == command._number_of_processes(1 << 40) > 2
    assert [command._number_of_processes(size << 29) for size in (1, 3, 4)] == [1, 1, 2]


def test_half_of_the_memory_is_for_what_test_processes_start() -> None:
    assert command._memory_of_a_process(None, 2) is None
    assert command._memory_of_a_process(2 << 30, 2) == 512 << 20


def test_a_seed_gives_the_same_order_again(root: Path) -> None:
    files = queue.test_files(root)
    one, same, other = (queue.entries(root, files, marks="", seed=seed) for seed in (1, 1, 2))
    assert one == same and one != other and sorted(map(str, one)) == sorted(map(str, other))


def test_only_files_with_slow_tests_are_read_for_slow_tests(root: Path) -> None:
    files = queue.test_files(root)
    found = queue.entries(root, files, marks="slow", seed=1)
    assert 20 < len(found) < len(files) / 4
    assert "tests/clients/storage/test_client_gcloud.py" in {entry.file for entry in found}


def test_four_parts_have_about_the_same_size() -> None:
    names = [f"tests/test_kills.py::test_killed[{number}]" for number in range(200)]
    sizes = [sum(queue.part_of(name, 4) == part for name in names) for part in range(4)]
    assert sum(sizes) == len(names) and all(35 < size < 65 for size in sizes)


def test_four_samples_have_every_slow_file_once_and_a_part_of_each_divided_one(root: Path) -> None:
    slow = {entry.file for entry in queue.entries(root, queue.test_files(root), marks="slow", seed=1)}
    whole = []
    for part in range(16):
        found = queue.with_sample(root, [], commit=f"0000000{part:x}" + "1" * 32, seed=3)
        whole += [entry.file for entry in found if entry.marks == queue.SLOW and entry.part is None]
        assert {entry for entry in found if entry.part is not None} == {
            Entry(file, queue.SLOW, part % parts) for file, parts in queue.DIVIDED.items()
        }
        assert all(Entry.parse(str(entry)) == entry for entry in found)
    assert sorted(whole) == sorted([*(slow - set(queue.DIVIDED))] * 4)


def test_a_sample_has_the_smoke_tests_of_all_other_slow_files(root: Path) -> None:
    fast = [Entry("tests/test_fast.py", queue.FAST)]
    found = queue.with_sample(root, fast, commit="1" * 40, seed=3)
    slow = [entry.file for entry in queue.entries(root, queue.test_files(root), marks="slow", seed=1)]
    whole = {entry.file for entry in found if entry.marks == queue.SLOW}
    smoke = {entry.file for entry in found if entry.marks == queue.SMOKE}
    assert smoke == {file for file in slow if queue.has_mark(root, file, "smoke")} - whole
    assert len(whole | smoke) + 1 == len(found)
    alone = queue.with_sample(root, fast, commit=None, seed=3)
    assert {entry.file for entry in alone if entry.marks == queue.SMOKE} == {
        file for file in slow if queue.has_mark(root, file, "smoke")
    }
    assert fast[0] in alone and not any(entry.marks == queue.SLOW for entry in alone)
    assert "tests/clients/storage/test_client_gcloud.py" in whole | smoke


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("providers/vertex-training/src/vertex_training/timeouts.py", ("tests",)),
        ("tests/support/waiting.py", ("tests",)),
        ("requirements-dev.txt", ("tests",)),
        ("some/new/path", ("tests",)),
        ("README.md", ("tests/engine/pages/test_readme_programs.py", "tests/setup")),
        ("tests/engine/jobs/test_waiting.py", ("tests/engine/jobs/test_waiting.py", GENERATED)),
        ("tests/engine/conftest.py", ("tests/engine", GENERATED)),
    ],
)
def test_a_changed_path_chooses_tests(root: Path, path: str, folders: tuple[str, ...]) -> None:
    assert changed.chosen(root, [path]) == folders


def test_every_folder_of_the_table_exists(root: Path) -> None:
    for start, folders in changed.TABLE:
        assert any(path.startswith(start) for path in _tracked(root)), start
        for folder in folders:
            assert (root / folder).exists(), folder


def test_what_differs_from_a_commit_is_found(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("same", "committed", "edited"):
        (tmp_path / name).write_text("1")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("switch", "-qc", "topic")
    (tmp_path / "committed").write_text("2")
    git("commit", "-qam", "two")
    (tmp_path / "edited").write_text("2")
    (tmp_path / "new file").write_text("1")
    assert changed.changed_paths(tmp_path, "main") == ["committed", "edited", "new file"]
    assert changed.default_base(tmp_path) == "HEAD"
    with pytest.raises(ChoreError, match=r"There is no commit nowhere\. Name one: --changed=HEAD~3"):
        changed.changed_paths(tmp_path, "nowhere")


def _tracked(root: Path) -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()
