"""Metric files of cloudml-hypertune and of other programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.tables import every_row
from vertex_emulator.jobs.tuning import metric_file
from vertex_emulator.jobs.tuning.metric_file import Entry, Seen, entries, read_lines


def line(value: object, *, metric: str = "accuracy", step: object = "1", **more: object) -> bytes:
    document = {"timestamp": 10.5, "trial": "3", metric: value, "global_step": step, "checkpoint_path": ""}
    return json.dumps({**document, **more}).encode()


@pytest.mark.parity("Tuning jobs: metrics")
def test_a_report_of_the_public_package_is_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "output.metrics"
    code = (
        "import hypertune; h = hypertune.HyperTune()\n"
        "for step in range(1, 4):\n"
        "    h.report_hyperparameter_tuning_metric('accuracy', 0.1 * step, step)\n"
    )
    variables = {**os.environ, "CLOUD_ML_HP_METRIC_FILE": str(path), "CLOUD_ML_TRIAL_ID": "7"}
    subprocess.run([sys.executable, "-c", code], env=variables, check=True)
    found = list(entries(read_lines(path, complete=True)))
    assert [(each.metric, each.value, each.step) for each in found] == [
        ("accuracy", 0.1, 1),
        ("accuracy", 0.2, 2),
        ("accuracy", 0.1 * 3, 3),
    ]
    assert all(each.timestamp is not None and each.timestamp > 1.6e9 for each in found)


@every_row(
    ("text", "expected"),
    [
        pytest.param(line("0.5"), [Entry(metric="accuracy", value=0.5, step=1, timestamp=10.5)], id="text"),
        pytest.param(line(0.5), [Entry(metric="accuracy", value=0.5, step=1, timestamp=10.5)], id="number"),
        pytest.param(line(1), [Entry(metric="accuracy", value=1.0, step=1, timestamp=10.5)], id="integer"),
        pytest.param(line("nan"), [], id="not a number"),
        pytest.param(line("inf"), [], id="infinite"),
        pytest.param(b'{"accuracy": NaN}', [], id="bare NaN"),
        pytest.param(b'{"accuracy": 1e999}', [], id="too large"),
        pytest.param(line(True), [], id="a truth"),
        pytest.param(line(None), [], id="null"),
        pytest.param(line([0.5]), [], id="a list"),
        pytest.param(line("good"), [], id="a word"),
        pytest.param(b"[1, 2]", [], id="no object"),
        pytest.param(b'{"accuracy": "0.', [], id="half a line"),
        pytest.param(b"\xff\xfe\x00", [], id="bytes"),
        pytest.param(b"[" * 10_000, [], id="deeply nested"),
        pytest.param(line("0." + "1" * 20_000), [], id="a very long line"),
        pytest.param(
            line("0.5", step="x"), [Entry(metric="accuracy", value=0.5, step=0, timestamp=10.5)], id="step x"
        ),
        pytest.param(
            line("0.5", step="-4"),
            [Entry(metric="accuracy", value=0.5, step=0, timestamp=10.5)],
            id="step -4",
        ),
        pytest.param(
            line("0.5", timestamp="x"),
            [Entry(metric="accuracy", value=0.5, step=1, timestamp=None)],
            id="time x",
        ),
        pytest.param(
            line("0.5", loss="0.1"),
            [
                Entry(metric="accuracy", value=0.5, step=1, timestamp=10.5),
                Entry(metric="loss", value=0.1, step=1, timestamp=10.5),
            ],
            id="two metrics in one line",
        ),
    ],
)
def test_a_line(text: bytes, expected: list[Entry]) -> None:
    assert list(entries([text])) == expected


@given(st.lists(st.binary(max_size=60), max_size=8), st.lists(st.binary(max_size=60), max_size=8))
def test_no_line_hides_a_report(before: list[bytes], after: list[bytes]) -> None:
    found = list(entries([*before, line(0.5, step="7"), *after]))
    assert ("accuracy", 0.5, 7) in [(each.metric, each.value, each.step) for each in found]


def test_the_last_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_bytes(line(1) + b"\n" + line(2))
    assert len(read_lines(path, complete=False)) == 1
    assert len(read_lines(path, complete=True)) == 2


def test_of_a_huge_file_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    with path.open("wb") as file:
        file.seek(10 * 2**30)
        file.write(b"\n" + line(1) + b"\n" + line(2) + b"\n")
    assert [each.value for each in entries(read_lines(path, complete=False))] == [1.0, 2.0]


def test_a_huge_line_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_bytes(b"x" * (metric_file.MAX_BYTES * 3) + b"\n" + line(1) + b"\n")
    assert sum(map(len, read_lines(path, complete=True))) <= metric_file.MAX_BYTES
    assert [each.value for each in entries(read_lines(path, complete=True))] == [1.0]


def test_what_is_no_ordinary_file_is_not_read(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(line(1) + b"\n")
    link, pipe, folder = tmp_path / "link", tmp_path / "pipe", tmp_path / "folder"
    link.symlink_to(target)
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (link, pipe, folder, tmp_path / "missing"):
        assert read_lines(path, complete=True) == []
        assert metric_file.stamp(path) is None
    assert len(read_lines(target, complete=True)) == 1


def test_a_file_that_changed_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_bytes(b"a\n")
    before = metric_file.stamp(path)
    assert metric_file.stamp(path) == before
    path.write_bytes(b"a\nb\n")
    assert metric_file.stamp(path) != before


def lines_of(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


@pytest.mark.parametrize(
    ("before", "now", "fresh"),
    [
        pytest.param([], [1, 2], [1, 2], id="all"),
        pytest.param([1, 2], [1, 2, 3], [3], id="appended"),
        pytest.param([1, 2, 3], [2, 3, 4], [4], id="the first has gone"),
        pytest.param([1, 2, 3], [3, 4, 5], [4, 5], id="two have gone"),
        pytest.param([1, 2, 3], [1, 2], [], id="read while it was written"),
        pytest.param([1, 2, 3], [2], [], id="read while it was written, without the first"),
        pytest.param([1, 2, 3], [], [], id="read while it was empty"),
        pytest.param([1, 2], [7, 8], [7, 8], id="another file"),
        pytest.param([1, 1], [1, 1, 1], [1], id="the same again"),
    ],
)
def test_what_is_new_in_a_file(before: list[int], now: list[int], fresh: list[int]) -> None:
    _, seen = Seen().new(lines_of(*before))
    assert seen.new(lines_of(*now))[0] == lines_of(*fresh)
    assert Seen.from_json(seen.to_json()) == seen


@settings(deadline=None)
@given(data=st.data(), total=st.integers(0, 60), kept=st.integers(1, 20))
def test_no_report_is_lost_or_counted_twice(data: st.DataObject, total: int, kept: int) -> None:
    """Read a file that keeps the last lines and is rewritten with each, sometimes when half is written.

    The reader is never so late that a line is dropped before it was read.
    """
    seen, found, written = Seen(), [], 0
    while written < total:
        written += data.draw(st.integers(1, min(kept, total - written)))
        whole = lines_of(*range(max(written - kept, 0), written))
        part = whole[: data.draw(st.integers(0, len(whole)))]
        for look in (part, whole):
            fresh, seen = seen.new(look)
            found += fresh
    assert found == lines_of(*range(total))


def test_a_long_file_that_is_appended_to(tmp_path: Path) -> None:
    """Check that no line is read twice in a file with more lines than are kept."""
    path, seen, found = tmp_path / "metrics", Seen(), 0
    with path.open("wb") as file:
        for _ in range(5):
            file.writelines(b"%d\n" % number for number in range(found, found + 1000))
            file.flush()
            fresh, seen = seen.new(read_lines(path, complete=False))
            assert fresh == lines_of(*range(found, found + 1000))
            found += 1000
