"""The reader of event files, with files of TensorBoard's and tensorboardX's own writers (`event_files/`)."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.views.curve import Points
from pulumi_vertex_training.views.metrics.event_files import DamagedFileError, scalars

FILES = Path(__file__).parent / "event_files"
TENSORBOARD = (FILES / "tensorboard.tfevents").read_bytes()
TENSORBOARDX = (FILES / "tensorboardX.tfevents").read_bytes()


def values(data: bytes) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for one in scalars(data)[0]:
        assert one.time > 1.7e9
        found.setdefault(one.tag, []).append((one.step, one.value))
    return found


def test_values_of_tensorboardx_are_read_and_texts_and_histograms_left_out() -> None:
    assert values(TENSORBOARDX) == {
        "loss/train": [(step, pytest.approx(1 / step)) for step in range(1, 6)],
        "accuracy": [(step, pytest.approx(step / 10)) for step in range(1, 6)],
    }


def test_tensors_of_tensorboard_are_read() -> None:
    assert values(TENSORBOARD) == {
        "epoch_loss": [(step, pytest.approx(2 / step)) for step in range(1, 6)],
        "big": [(step, 1e6 * step) for step in range(1, 6)],
        "negative": [(0, -3.5)],
    }


@given(st.integers(0, len(TENSORBOARD)))
def test_a_file_that_is_being_written_is_read_in_parts(cut: int) -> None:
    first, length = scalars(TENSORBOARD[:cut])
    assert length <= cut
    rest, _ = scalars(TENSORBOARD[length:])
    assert [*first, *rest] == scalars(TENSORBOARD)[0]


@given(st.integers(0, len(TENSORBOARDX) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_found_or_ends_the_file(place: int, change: int) -> None:
    data = bytearray(TENSORBOARDX)
    data[place] ^= change
    with pytest.raises(DamagedFileError):
        scalars(bytes(data))


@given(st.binary(max_size=200))
def test_any_bytes_are_damaged_or_too_short(data: bytes) -> None:
    with contextlib.suppress(DamagedFileError):
        assert scalars(data) == ([], 0)


def test_a_program_that_starts_again_repeats_steps() -> None:
    points = Points()
    for step, value in ((1, 0.5), (2, 0.4), (3, 0.3), (2, 0.45), (3, 0.35), (3, 0.36)):
        points.add(step, value)
    assert points.all == ((1, 0.5), (2, 0.45), (3, 0.36))
    many = Points()
    for step in range(20_000):
        many.add(step, step)
    assert len(many.all) <= 4000 and many.all[-1] == (19_999, 19_999)
