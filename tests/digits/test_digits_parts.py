"""The parts of the example on their own: data, gradient, files, frames, package."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from digits.replicas import DATA, EXAMPLE
from pulumi_vertex_training.packaging.build import build_package


def test_the_data_is_the_published_file() -> None:
    digest = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
    assert hashlib.sha256(DATA.read_bytes()).hexdigest() == digest
    assert digest in (DATA.parent / "README.md").read_text()
    rows = [line.split(b",") for line in gzip.decompress(DATA.read_bytes()).splitlines()]
    assert (len(rows), {len(row) for row in rows}) == (1797, {65})


def test_a_fifth_of_every_class_is_held_out_and_always_the_same() -> None:
    from digits_trainer.data import load, split

    digits = load(DATA)
    training, held_out = split(digits)
    assert (len(digits), len(training), len(held_out)) == (1797, 1438, 359)
    for label in range(10):
        count = int((digits.labels == label).sum())
        assert int((held_out.labels == label).sum()) == round(count / 5)
    images = [image.tobytes() for part in (training, held_out) for image in part.images]
    assert sorted(images) == sorted(image.tobytes() for image in digits.images)
    assert hashlib.sha256(held_out.images.tobytes()).hexdigest()[:16] == "6957886265a62e99"
    assert not set(images[:1438]) & set(images[1438:])  # no digit is in both


def test_shifted_digits_keep_their_label_and_move_by_one_pixel() -> None:
    from digits_trainer.data import Digits, shifted

    dot = np.zeros((1, 64))
    dot[0, 3 * 8 + 4] = 1.0
    moved = shifted(Digits(dot, np.array([7])))
    assert moved.labels.tolist() == [7] * 5
    places = {tuple(int(i) for i in np.argwhere(image.reshape(8, 8))[0]) for image in moved.images}
    assert places == {(3, 4), (2, 4), (4, 4), (3, 3), (3, 5)}


def test_gradient_is_the_slope_of_the_loss() -> None:
    from digits_trainer.model import Network

    network = Network(hidden=3)
    generator = np.random.default_rng(7)
    weights = generator.normal(size=network.size)
    images, labels = generator.random((4, 64)), np.array([0, 9, 3, 3])
    _, gradient = network.loss_and_gradient(weights, images, labels)
    step = 1e-6
    slopes = np.empty_like(weights)
    for i in range(network.size):
        nudge = np.zeros_like(weights)
        nudge[i] = step
        above, _ = network.loss_and_gradient(weights + nudge, images, labels)
        below, _ = network.loss_and_gradient(weights - nudge, images, labels)
        slopes[i] = (above - below) / (2 * step)
    assert np.abs(gradient - slopes).max() < 1e-6
    loss, _ = network.loss_and_gradient(weights, images, labels)
    assert network.score(weights, images, labels).loss == pytest.approx(loss / 4)


def test_sums_over_shards_add_up() -> None:
    from digits_trainer.model import Network

    network = Network(hidden=3)
    weights = network.initial_weights(1)
    images, labels = np.random.default_rng(7).random((7, 64)), np.arange(7)
    loss, gradient = network.loss_and_gradient(weights, images, labels)
    shards = [slice(0, 3), slice(3, 3), slice(3, 7)]
    parts = [network.loss_and_gradient(weights, images[shard], labels[shard]) for shard in shards]
    assert sum(part for part, _ in parts) == pytest.approx(loss, abs=1e-12)
    assert np.abs(sum(part for _, part in parts) - gradient).max() < 1e-12


def test_a_file_is_complete_or_missing(tmp_path: Path) -> None:
    from digits_trainer.errors import OutputError
    from digits_trainer.storage import replacing

    path = tmp_path / "new" / "model.npz"
    with replacing(path) as file:
        file.write(b"first")
        assert not path.exists()
    with (
        pytest.raises(OutputError, match=r"model\.npz cannot be written: No space left on device\."),
        replacing(path) as file,
    ):
        file.write(b"second")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert path.read_bytes() == b"first"
    assert [entry.name for entry in path.parent.iterdir()] == ["model.npz"]


def test_checkpoints_are_listed_by_epoch(tmp_path: Path) -> None:
    from digits_trainer.storage import list_checkpoints

    for name in [
        "checkpoint-10000.npz",
        "checkpoint-0002.npz",
        "checkpoint-9999.npz",
        ".checkpoint-0003.npz.7.part",
    ]:
        (tmp_path / name).touch()
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["checkpoint-0002.npz", "checkpoint-9999.npz", "checkpoint-10000.npz"]


FRAME = {"rank": 1, "step": 5, "length": 8}


@pytest.mark.parametrize(
    "change",
    [
        {"rank": 2},
        {"step": 4},
        {"length": 9},
        {"length": 2**62},
        {"kind": 5},
        {"magic": b"HTTP"},
        {"version": 2},
    ],
    ids=str,
)
def test_an_unexpected_frame_is_rejected(change: dict[str, object]) -> None:
    from digits_trainer.errors import PeerError
    from digits_trainer.wire import HEADER, MAGIC, VERSION, Kind, Peer

    fields = {"magic": MAGIC, "version": VERSION, "kind": int(Kind.PART), **FRAME}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        theirs.sendall(HEADER.pack(*fields.values()) + b"8 bytes!" + HEADER.pack(*(fields | change).values()))
        peer = Peer(ours, rank=1, name="workerpool1-0 (h:1)")
        received = bytearray(8)
        peer.receive(Kind.PART, step=5, into=memoryview(received))
        assert received == b"8 bytes!"
        with pytest.raises(
            PeerError, match=r"^workerpool1-0 \(h:1\) sent something else than PART of 8 bytes in step 5"
        ):
            peer.receive(Kind.PART, step=5, into=memoryview(received))


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("127.8.0.2", "127.8.0.2"), ("192.0.2.7", None), ("::1", "::1")],
)
def test_the_chief_listens_at_a_loopback_host_alone(host: str, address: str | None) -> None:
    from digits_trainer.rendezvous import loopback_address

    assert loopback_address(host) == address


def test_the_package_includes_vertex_cluster_and_runs(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    wheel = build_package(EXAMPLE, vertex_cluster=True).save(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    assert {path.name for path in installed.iterdir()} == {
        "digits_trainer",
        "vertex_cluster",
        "digits_trainer-0.1.0.dist-info",
    }
    metadata = (installed / "digits_trainer-0.1.0.dist-info" / "METADATA").read_text()
    assert [line for line in metadata.splitlines() if line.startswith("Requires-Dist")] == [
        "Requires-Dist: numpy>=1.22"
    ]
    task = ["-m", "digits_trainer.task", "--data", str(DATA), "--epochs", "1"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed)}
    run = subprocess.run(
        [sys.executable, *task], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("workerpool0-0: chief in a job of 1 chief\n")
    where = [sys.executable, "-c", "import vertex_cluster; print(vertex_cluster.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == installed / "vertex_cluster" / "__init__.py"
