"""A data folder that an earlier version has written."""

from __future__ import annotations

import json
from pathlib import Path

from support.emulated.emulator import running, storage_client
from vertex_emulator.kernel import data_folder
from vertex_emulator.kernel.database import connect
from vertex_emulator.storage.disk.records import SCHEMA

_MOMENT = "2026-01-01T00:00:00.000Z"
_ACCESS = {
    "uniformBucketLevelAccess": {"enabled": False},
    "bucketPolicyOnly": {"enabled": False},
    "publicAccessPrevention": "inherited",
}


def test_the_first_schema(tmp_path: Path) -> None:
    folder = data_folder.prepare(tmp_path)
    database = connect(folder.database)
    database.migrate("storage", SCHEMA[:1])
    settings = {
        "location": "US",
        "storageClass": "STANDARD",
        "iamConfiguration": _ACCESS,
        "softDeletePolicy": {"retentionDurationSeconds": "604800", "effectiveTime": _MOMENT},
    }
    database.execute(
        "INSERT INTO storage_buckets VALUES ('old', 'local', 1, 1, ?, ?, ?)",
        (_MOMENT, _MOMENT, json.dumps(settings)),
    )
    (folder.buckets / "old").mkdir()
    path = folder.buckets / "old" / "o"
    path.write_bytes(b"hello")
    state = path.stat()
    database.execute(
        "INSERT INTO storage_objects VALUES ('old', 'o', 2, 1, 1, 5, 'mnG7TA==', 'XUFAKrxLKna5cZ2REBfFkg==', "
        '?, ?, NULL, \'{"storageClass": "STANDARD"}\', NULL, NULL, ?, ?)',
        (_MOMENT, _MOMENT, state.st_mtime_ns, state.st_ino),
    )
    database.close()
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.get_bucket("old")
        blob = bucket.get_blob("o")
        assert (blob.generation, blob.md5_hash, blob.download_as_bytes()) == (
            2,
            "XUFAKrxLKna5cZ2REBfFkg==",
            b"hello",
        )
        blob.delete()
        bucket.restore_blob("o", generation=2)
        assert bucket.blob("o").download_as_bytes() == b"hello"
        bucket.labels = {"a": "b"}
        bucket.patch()
