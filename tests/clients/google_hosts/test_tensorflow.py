"""TensorFlow in a replica: gs:// addresses, unmodified, with credentials of the metadata server."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.layout import layout
from scripts.tools import tensorflow_client
from support.emulated.emulator import running
from support.emulated.job_emulator import JobEmulator, pool

pytestmark = pytest.mark.slow

PROGRAM = """
import json, os
import tensorflow as tf
gfile, root, results = tf.io.gfile, "gs://train/files", {}

def write(path, data, mode="wb"):
    with gfile.GFile(path, mode) as file:
        file.write(data)

def read(path):
    with gfile.GFile(path, "rb") as file:
        return file.read().decode()

def error(call, *arguments):
    try:
        return call(*arguments)
    except tf.errors.OpError as error:
        return type(error).__name__

results["input"] = read("gs://train/input/a b.txt")
results["buckets"] = [gfile.exists("gs://train"), gfile.exists("gs://no-such-bucket")]
results["missing"] = [error(read, f"{root}/missing"), error(gfile.stat, f"{root}/missing")]
gfile.makedirs(f"{root}/a/b")
gfile.makedirs(f"{root}/a/b")
for name in ("one.txt", "two \u00fc%+?#.txt"):
    write(f"{root}/a/b/{name}", name)
write(f"{root}/empty", "")
write(f"{root}/log", "first,")
write(f"{root}/log", "second,", "ab")
with gfile.GFile(f"{root}/log", "ab") as log:
    log.write("third,")
    log.flush()
    results["flushed"] = read(f"{root}/log")
    log.write("fourth")
results["extended"], results["empty"] = read(f"{root}/log"), read(f"{root}/empty")
results["listed"] = sorted(gfile.listdir(root))
results["walked"] = [[where, sorted(folders), sorted(files)] for where, folders, files in gfile.walk(root)]
results["globbed"] = gfile.glob(f"{root}/*/*/*.txt")
results["kinds"] = [gfile.isdir(f"{root}/a"), gfile.isdir(f"{root}/log"), gfile.stat(f"{root}/log").length]
large = os.urandom(5 * 1024 * 1024 + 1)
write(f"{root}/large", large)
with gfile.GFile(f"{root}/large", "rb") as file:
    file.seek(len(large) - 3)
    results["end"] = file.read(10) == large[-3:] and file.read(1) == b""
gfile.copy(f"{root}/log", f"{root}/copy")
results["twice"] = error(gfile.copy, f"{root}/log", f"{root}/copy")
gfile.copy(f"{root}/log", f"{root}/copy", overwrite=True)
gfile.rename(f"{root}/copy", f"{root}/moved")
gfile.rename(f"{root}/a", f"{root}/c")
results["renamed"] = [gfile.exists(f"{root}/copy"), read(f"{root}/moved"), read(f"{root}/c/b/one.txt")]
gfile.remove(f"{root}/moved")
gfile.rmtree(f"{root}/c")
results["left"] = sorted(gfile.listdir(root))

for number in range(3):
    with tf.io.TFRecordWriter(f"gs://train/records/{number}.tfrecord") as writer:
        for index in range(100):
            writer.write(b"%d" % (number * 100 + index))
records = tf.data.TFRecordDataset(gfile.glob("gs://train/records/*.tfrecord"), num_parallel_reads=3)
results["records"] = sorted(int(record) for record in records.as_numpy_iterator()) == list(range(300))

model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])
model.compile("adam", "mse")
inputs, outputs = tf.random.normal((32, 4)), tf.random.normal((32, 3))
logs, checkpoints = os.environ["AIP_TENSORBOARD_LOG_DIR"], os.environ["AIP_CHECKPOINT_DIR"]
model.fit(inputs, outputs, epochs=2, verbose=0, callbacks=[
    tf.keras.callbacks.TensorBoard(logs),
    tf.keras.callbacks.ModelCheckpoint(checkpoints + "{epoch}.weights.h5", save_weights_only=True),
])
expected = model.predict(inputs, verbose=0)

directory = os.environ["AIP_MODEL_DIR"]
tf.saved_model.save(model, directory)
served = tf.saved_model.load(directory).signatures["serving_default"](inputs)
results["saved model"] = bool(abs(list(served.values())[0] - expected).numpy().max() < 1e-5)
model.save(directory + "model.keras")
loaded = tf.keras.models.load_model(directory + "model.keras")
results["keras"] = bool(abs(loaded.predict(inputs, verbose=0) - expected).max() < 1e-5)

manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), checkpoints + "own", max_to_keep=2)
for _ in range(3):
    manager.save()
tf.train.Checkpoint(model=model).restore(manager.latest_checkpoint).assert_existing_objects_matched()
results["checkpoints"] = [path.rpartition("/")[2] for path in manager.checkpoints]
results["version"] = tf.__version__
results["credentials"] = [name for name in (
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_AUTH_TOKEN_FOR_TESTING") if os.environ.get(name)]
write("gs://train/results.json", json.dumps(results))
"""

COMPOSE = """
import tensorflow as tf
for text in ("one,", "two,", "three"):
    with tf.io.gfile.GFile("gs://train/composed", "ab") as file:
        file.write(text)
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with TensorFlow. Without it the tests are skipped, or fail if CI is set."""
    if not tensorflow_client.is_installed(layout()):
        message = "TensorFlow is not installed. To run this test: make tools"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return tensorflow_client.folder(layout())


def provide(packages: Path, target: Path) -> None:
    """Link the packages into a bucket: the cache folder may be closed to the user of replicas."""
    try:
        shutil.copytree(packages, target, copy_function=os.link)
    except shutil.Error:  # another file system
        shutil.rmtree(target)
        shutil.copytree(packages, target)


@pytest.fixture(scope="module")
def bucket(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the jobs. Yield the folder of the bucket that they used."""
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        emulator = JobEmulator(daemon)
        emulator.call("POST", "/storage/v1/b?project=local", {"name": "train"}).ok()
        folder = emulator.data_dir / "buckets" / "train"
        (folder / "input").mkdir()
        (folder / "input" / "a b.txt").write_text("from a file")
        provide(packages, emulator.data_dir / "buckets" / "packages")
        variables = {"PYTHONPATH": "/gcs/packages", "TF_CPP_MIN_LOG_LEVEL": "2"}
        for program, more in ((PROGRAM, {}), (COMPOSE, {"GCS_APPEND_MODE": "compose"})):
            env = [{"name": name, "value": value} for name, value in {**variables, **more}.items()]
            name = emulator.create(
                pool(program, env=env), baseOutputDirectory={"outputUriPrefix": "gs://train/out"}
            )
            ended = emulator.wait(name, seconds=480)
            assert ended["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name)[-30:]
        yield folder


@pytest.fixture(scope="module")
def results(bucket: Path) -> Any:
    return json.loads((bucket / "results.json").read_text())


@pytest.mark.parity(
    "The interface: gs:// addresses in TensorFlow",
    same="the same client, unmodified, with the token of the metadata server",
)
def test_files(results: Any) -> None:
    assert results["input"] == "from a file"
    assert results["buckets"] == [True, False]
    assert results["missing"] == ["NotFoundError", "NotFoundError"]
    assert (results["flushed"], results["extended"]) == ("first,second,third,", "first,second,third,fourth")
    assert results["empty"] == ""
    assert results["listed"] == ["a/", "empty", "log"]
    assert results["walked"] == [
        ["gs://train/files", ["a/"], ["empty", "log"]],
        ["gs://train/files/a/", ["b/"], []],
        ["gs://train/files/a/b/", [], ["one.txt", "two ü%+?#.txt"]],
    ]
    assert sorted(results["globbed"]) == [
        "gs://train/files/a/b/one.txt",
        "gs://train/files/a/b/two ü%+?#.txt",
    ]
    assert results["kinds"] == [True, False, 25]
    assert results["end"] is True
    assert results["twice"] == "AlreadyExistsError"
    assert results["renamed"] == [False, "first,second,third,fourth", "one.txt"]
    assert results["left"] == ["empty", "large", "log"]


def test_files_are_extended_by_composition(bucket: Path) -> None:
    assert (bucket / "composed").read_text() == "one,two,three"


@pytest.mark.parity("The interface: gs:// addresses in TensorFlow")
@pytest.mark.smoke
def test_records(results: Any) -> None:
    assert results["records"] is True


@pytest.mark.parity("The interface: gs:// addresses in TensorFlow")
def test_models_and_checkpoints(results: Any, bucket: Path) -> None:
    assert (results["saved model"], results["keras"]) == (True, True)
    assert results["checkpoints"] == ["ckpt-2", "ckpt-3"]
    model = bucket / "out" / "model"
    assert {path.name for path in model.iterdir()} >= {"saved_model.pb", "variables", "model.keras"}
    checkpoints = {path.name for path in (bucket / "out" / "checkpoints").iterdir()}
    assert {"1.weights.h5", "2.weights.h5", "own"} <= checkpoints
    assert not list((bucket / "out" / "checkpoints" / "own").glob("ckpt-1.*"))


@pytest.mark.parity("The interface: gs:// addresses in TensorFlow")
def test_tensorboard_has_events(bucket: Path) -> None:
    written = list((bucket / "out" / "logs").glob("*/events.out.tfevents.*"))
    assert {path.parent.name for path in written} == {"train"}
    assert all(path.stat().st_size for path in written)


@pytest.mark.parity("The interface: gs:// addresses in TensorFlow")
def test_the_credentials_are_those_of_every_replica(results: Any) -> None:
    """Expect no file and no token in the environment: the metadata server gives one, as on Google Cloud."""
    assert results["credentials"] == []
    assert results["version"].startswith("2.21.")
