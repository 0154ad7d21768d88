"""TensorFlow's input pipeline over many files: through gs:// addresses, and from the same files on disk."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import google_crc32c
from emulated.servers import emulator
from figure import Figure

from scripts.layout import layout
from scripts.tools import tensorflow_client
from vertex_emulator.client import addresses
from vertex_emulator.client.control import Control

FILES = 1000
_RECORDS = 100
_SIZE = 100
_PROGRAM = f"""
import json, sys, time
import tensorflow as tf
took = {{}}
for root in sys.argv[1:]:
    began = time.perf_counter()
    files = tf.io.gfile.glob(root + "/*.tfrecord")
    records = tf.data.TFRecordDataset(files, num_parallel_reads=16).batch(1000)
    read = sum(int(batch.shape[0]) for batch in records)
    assert (len(files), read) == ({FILES}, {FILES * _RECORDS})
    took[root] = time.perf_counter() - began
print(json.dumps(took))
"""


def figures() -> Iterator[Figure]:
    name = f"tf.data: {FILES:,} files of {_RECORDS * _SIZE // 1000} KB from gs://, with blocks of 1 MB"
    if not tensorflow_client.is_installed(layout()):
        yield Figure(name=name, value=0.0, unit="s", note="TensorFlow is not installed: make tools")
        return
    with emulator() as found:
        Control(url=found.url, token=found.token).call(
            "POST", "/storage/v1/b?project=local", {"name": "bench"}
        )
        folder = found.data_dir / "buckets" / "bench" / "records"
        _write(folder)
        roots = (str(folder), "gs://bench/records")
        proxy = str(Control(url=found.url, token=found.token).call("GET", "/_local/info")["proxy"])
        mine = {"PATH": os.environ["PATH"], "HOME": str(found.data_dir)}
        values = addresses.variables(found, project="local", location="us-central1", environment=mine)
        shell = addresses.with_proxy(values, found, proxy=proxy, environment=mine)
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, *roots],
            env={
                **mine,
                **shell,
                "PYTHONPATH": str(tensorflow_client.folder(layout())),
                "GCS_READ_CACHE_BLOCK_SIZE_MB": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        took = json.loads(done.stdout)
    from_disk, from_bucket = (took[root] for root in roots)
    yield Figure(name=name, value=from_bucket, unit="s", note=f"the same files on disk: {from_disk:.2f} s")


def _write(folder: Path) -> None:
    """Write files of records as TensorFlow does, without loading it."""
    folder.mkdir(parents=True)
    for number in range(FILES):
        records = (os.urandom(_SIZE) for _ in range(_RECORDS))
        (folder / f"{number:04}.tfrecord").write_bytes(b"".join(map(_framed, records)))


def _framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _checksum(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
