"""Event files: those of other libraries, incomplete ones, and hostile ones."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from support.emulated.services.experiments import event, record, write_events
from vertex_emulator.services.tensorboards import event_files

TENSORFLOW = zlib.decompress(
    base64.b64decode(
        "eNptkj0sA2Ech6/Vo319hMbCQFxMhhvYDI6GxUZCN1LNlUuql9wdlVi6SJhNFYOZycxiMIiPikFClI0J9d3rF33fe//vpW/8kg7P"
        "0/tfkycdEpzdXA0/BQQhdd1xdDvS2TxnRLSEPLasJqzB/sleJFlqwtSNWFxPylHdUOUlS4vLKv7enE0amqUaJ1Niu0zfdnwaLgQe"
        "wxnytlZPXw/qRr64bpoh5PcEBclXfUYZb0QB1GBGI/GIYe6nt+9qrldj9Nr733VqqOZ6cyfTVV/nXGu2KgUmsjfw23kRfYnIsxB6"
        "EP3eoD/o9XdVP3XSpeg8n1M21vFyCs9tZG/UCwLwVhrP9cAS2TvzwHu7eK4HHiD7YB748ADP9cCjZJ/MA5+f4bkeeIrsi3ng+yye"
        "64FjZN/MA7++4LkeeCWJ98N8LeeZByZZ110P7HS1uc427WxznW3aucB1Ligk667rgZ2uRa5zkXYucp2LtHOJ61yinUtc55IyTbqW"
        "mQd2upa5zmXaucJ1rtDOFa5zhXb+5TozHob/7XgLakJoQTMtfd6ILJoXzzNrf0tyQe0="
    )
)
"""A file of TensorFlow 2.21: the scalar `loss` at steps 1 and 2, and a histogram."""


def test_scalars_of_tensorflow(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    write_events(path, [TENSORFLOW])
    found = event_files.read(path)
    assert [(each.tag, each.step, each.value) for each in found.scalars] == [
        ("loss", 1, 0.5),
        ("loss", 2, 0.25),
    ]
    assert found.end == len(TENSORFLOW)


def test_only_the_first_value_of_a_tag_names_its_plugin(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    for size in range(len(TENSORFLOW)):
        write_events(path, [TENSORFLOW[:size]])
        part = event_files.read(path)
        if len(part.scalars) == 1:
            break
    write_events(path, [TENSORFLOW])
    assert [each.value for each in event_files.read(path, after=part).scalars] == [0.25]


def test_scalars_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    write_events(path, [event(0, {"loss": 1.0, "accuracy": 0.5}), event(300, {"loss": 0.25})])
    found = event_files.read(path).scalars
    assert [(each.tag, each.step, each.value) for each in found] == [
        ("loss", 0, 1.0),
        ("accuracy", 0, 0.5),
        ("loss", 300, 0.25),
    ]
    assert {each.wall_time for each in found} == {1.7e9}


def test_an_incomplete_record_is_read_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    first, second = event(1, {"loss": 1.0}), event(2, {"loss": 0.5})
    write_events(path, [first, second[:10]])
    part = event_files.read(path)
    assert [each.step for each in part.scalars] == [1]
    assert part.end == len(first)
    write_events(path, [second[10:]], mode="ab")
    assert [each.step for each in event_files.read(path, after=part).scalars] == [2]


@pytest.mark.parametrize(
    "bytes_",
    [b"", b"no event file at all", b"\xff" * 12, record(b"\xff\xff\xff"), record(b"")],
    ids=["empty", "text", "endless length", "no message", "empty message"],
)
def test_files_without_events(tmp_path: Path, bytes_: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1"
    write_events(path, [bytes_])
    assert event_files.read(path).scalars == ()


def test_a_damaged_record_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    damaged = bytearray(event(2, {"loss": 0.5}))
    damaged[20] ^= 1
    write_events(path, [event(1, {"loss": 1.0}), bytes(damaged), event(3, {"loss": 0.1})])
    assert [each.step for each in event_files.read(path).scalars] == [1]
