"""`gcloud storage`, each operation as its users type it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.clients.tools import tool

pytestmark = pytest.mark.slow

Run = Callable[..., str]


@pytest.fixture
def gcloud(settings: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs `gcloud storage`; a failure fails the test with what it said."""
    program = tool("gcloud")
    config = tmp_path_factory.mktemp("gcloud")

    def run(*words: str, stdin: bytes = b"", **more: str) -> str:
        done = subprocess.run(
            [program, "storage", *words],
            env={
                **os.environ,
                **settings,
                "CLOUDSDK_CONFIG": str(config),
                "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
                "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
                **more,
            },
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


@pytest.fixture
def root(bucket: Any) -> str:
    """gs://BUCKET with three objects."""
    for name, content in (("one.txt", "one"), ("d/two.txt", "two"), ("d/sub/three.csv", "three")):
        bucket.blob(name).upload_from_string(content)
    return f"gs://{bucket.name}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/a").write_text("a")
    (tmp_path / "tree/sub/b").write_text("b")
    return tmp_path / "tree"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large"
    path.write_bytes(os.urandom(12_000_000))
    return path


def names(bucket: Any) -> list[str]:
    return [blob.name for blob in bucket.list_blobs()]


def test_buckets_create_and_delete(gcloud: Run, client: Any) -> None:
    gcloud("buckets", "create", "gs://made-by-gcloud", "--location=europe-west4")
    assert client.get_bucket("made-by-gcloud").location == "EUROPE-WEST4"
    gcloud("buckets", "delete", "gs://made-by-gcloud")
    assert client.lookup_bucket("made-by-gcloud") is None


def test_buckets_describe(gcloud: Run, bucket: Any, root: str) -> None:
    assert json.loads(gcloud("buckets", "describe", root, "--format=json"))["name"] == bucket.name


def test_buckets_list(gcloud: Run, bucket: Any) -> None:
    assert bucket.name in gcloud("buckets", "list", "--format=value(name)").split()


def test_buckets_update(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("buckets", "update", root, "--update-labels=team=a", "--versioning")
    bucket.reload()
    assert (bucket.labels, bucket.versioning_enabled) == ({"team": "a"}, True)


@pytest.mark.smoke
def test_cp_up(gcloud: Run, bucket: Any, root: str, tree: Path) -> None:
    gcloud("cp", str(tree / "a"), f"{root}/up/a")
    assert bucket.blob("up/a").download_as_bytes() == b"a"


def test_cp_of_a_folder_up(gcloud: Run, bucket: Any, root: str, tree: Path) -> None:
    gcloud("cp", "-r", str(tree), root)
    assert names(bucket)[-2:] == ["tree/a", "tree/sub/b"]


def test_cp_down(gcloud: Run, root: str, tmp_path: Path) -> None:
    gcloud("cp", f"{root}/one.txt", str(tmp_path / "one"))
    assert (tmp_path / "one").read_text() == "one"


def test_cp_of_a_folder_down(gcloud: Run, root: str, tmp_path: Path) -> None:
    gcloud("cp", "-r", f"{root}/d", str(tmp_path))
    assert (tmp_path / "d/sub/three.csv").read_text() == "three"


def test_cp_between_names(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("cp", f"{root}/one.txt", f"{root}/copy.txt")
    assert bucket.blob("copy.txt").download_as_bytes() == b"one"


def test_cp_from_standard_input(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("cp", "-", f"{root}/stdin", stdin=b"from a pipe")
    assert bucket.blob("stdin").download_as_bytes() == b"from a pipe"


def test_cp_of_a_large_file_is_resumable(gcloud: Run, bucket: Any, root: str, large: Path) -> None:
    gcloud("cp", str(large), f"{root}/large", CLOUDSDK_STORAGE_RESUMABLE_THRESHOLD="1M")
    assert bucket.blob("large").download_as_bytes() == large.read_bytes()


def test_cp_compressed_at_rest(gcloud: Run, bucket: Any, root: str, tree: Path) -> None:
    gcloud("cp", "-Z", str(tree / "a"), f"{root}/zipped")
    assert bucket.get_blob("zipped").content_encoding == "gzip"


def test_cp_compressed_on_the_way(gcloud: Run, bucket: Any, root: str, tree: Path) -> None:
    gcloud("cp", "-J", str(tree / "a"), f"{root}/sent")
    found = bucket.get_blob("sent")
    assert (found.content_encoding, found.download_as_bytes(raw_download=True)) == (None, b"a")


def test_a_parallel_composite_upload(gcloud: Run, bucket: Any, root: str, large: Path) -> None:
    gcloud(
        "cp",
        str(large),
        f"{root}/composite",
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED="True",
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_THRESHOLD="2M",
        CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_COMPONENT_SIZE="3M",
    )
    found = bucket.get_blob("composite")
    assert (found.component_count, found.download_as_bytes() == large.read_bytes()) == (4, True)


def test_a_sliced_download(gcloud: Run, bucket: Any, root: str, large: Path, tmp_path: Path) -> None:
    bucket.blob("large").upload_from_filename(str(large))
    gcloud(
        "cp",
        f"{root}/large",
        str(tmp_path / "back"),
        CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_THRESHOLD="2M",
        CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_COMPONENT_SIZE="3M",
    )
    assert (tmp_path / "back").read_bytes() == large.read_bytes()


def test_ls_recursively(gcloud: Run, root: str) -> None:
    assert f"{root}/d/sub/three.csv" in gcloud("ls", "-r", root).split()


def test_ls_with_wildcards(gcloud: Run, root: str) -> None:
    assert gcloud("ls", f"{root}/**.txt").split() == [f"{root}/d/two.txt", f"{root}/one.txt"]


def test_ls_with_sizes(gcloud: Run, root: str) -> None:
    assert "TOTAL: 1 objects, 3 bytes" in gcloud("ls", "-l", f"{root}/d/")


def test_cat(gcloud: Run, root: str) -> None:
    assert gcloud("cat", f"{root}/one.txt") == "one"


def test_cat_of_a_range(gcloud: Run, root: str) -> None:
    assert gcloud("cat", "-r", "1-3", f"{root}/d/sub/three.csv") == "hre"


def test_mv(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("mv", f"{root}/one.txt", f"{root}/moved.txt")
    assert names(bucket) == ["d/sub/three.csv", "d/two.txt", "moved.txt"]


def test_rm(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("rm", f"{root}/one.txt")
    assert names(bucket) == ["d/sub/three.csv", "d/two.txt"]


def test_rm_of_a_bucket(gcloud: Run, client: Any, bucket: Any, root: str) -> None:
    gcloud("rm", "-r", root)
    assert client.lookup_bucket(bucket.name) is None


def test_rsync_up(gcloud: Run, bucket: Any, root: str, tree: Path) -> None:
    gcloud("rsync", "-r", "--delete-unmatched-destination-objects", str(tree), f"{root}/d")
    assert names(bucket) == ["d/a", "d/sub/b", "one.txt"]


def test_rsync_down(gcloud: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "down").mkdir()
    gcloud("rsync", "-r", root, str(tmp_path / "down"))
    assert (tmp_path / "down/d/sub/three.csv").read_text() == "three"


def test_du(gcloud: Run, root: str) -> None:
    assert gcloud("du", "-s", root).split()[0] == "11"


def test_hash(gcloud: Run, bucket: Any, root: str) -> None:
    assert bucket.get_blob("one.txt").crc32c in gcloud("hash", f"{root}/one.txt")


def test_objects_describe(gcloud: Run, root: str) -> None:
    assert json.loads(gcloud("objects", "describe", f"{root}/one.txt", "--format=json"))["size"] == 3


def test_objects_list(gcloud: Run, root: str) -> None:
    listed = gcloud("objects", "list", f"{root}/**", "--format=value(name)").split()
    assert listed == ["d/sub/three.csv", "d/two.txt", "one.txt"]


def test_objects_update(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("objects", "update", f"{root}/one.txt", "--custom-metadata=step=3", "--cache-control=no-store")
    found = bucket.get_blob("one.txt")
    assert (found.metadata, found.cache_control) == ({"step": "3"}, "no-store")


def test_objects_compose(gcloud: Run, bucket: Any, root: str) -> None:
    gcloud("objects", "compose", f"{root}/one.txt", f"{root}/d/two.txt", f"{root}/both")
    assert bucket.blob("both").download_as_bytes() == b"onetwo"
