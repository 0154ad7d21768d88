"""Staged folders of one stack or several: refused files, changes meanwhile, shared and kept objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requests import PreparedRequest, Response

from pulumi_vertex_training.cloud import clients, objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.objects import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT
from pulumi_vertex_training.providers import StagedFolderProvider, StagingBucketProvider
from support.client.in_process.small_engine import Declared, SmallEngine

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
BUCKET = "folder-keys"


@pytest.fixture
def engine(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    (tmp_path / "project" / "data" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    Path("data", "a.txt").write_text("a")
    Path("data", "sub", "b.txt").write_text("b")
    return SmallEngine({"vertex-training:dataDir": str(data_dir)})


def bucket() -> Declared:
    inputs = {**PLACE, "name": BUCKET, "force_destroy": True}
    return Declared(name="bucket", provider=StagingBucketProvider(), inputs=inputs)


def folder(name: str, key: str = "stack-a", **more: Any) -> Declared:
    given = {**PLACE, "bucket": BUCKET, "source": "data", "prefix": "folders", KEY_INPUT: key, **more}
    return Declared(name=name, provider=StagedFolderProvider(), inputs=given)


def there(endpoint: Endpoint) -> dict[str, objects.ObjectRecord]:
    """Return the objects by their names below the folder of a version."""
    listed = objects.list_objects(endpoint, BUCKET)
    return {one.name.split("/", 2)[2]: one for one in listed}


def failures(**inputs: Any) -> list[str]:
    given = {**PLACE, "bucket": BUCKET, "source": "data", "prefix": "folders", **inputs}
    found = StagedFolderProvider().check({}, given)
    return [failure.reason for failure in found.failures or ()]


def test_every_problem_of_a_folder_is_reported_at_once(engine: SmallEngine, tmp_path: Path) -> None:
    data = Path("data")
    (tmp_path / "secret").write_text("a private key")
    (data / "out").symlink_to(tmp_path / "secret")
    (data / "broken").symlink_to("nowhere")
    (data / "sub" / "up").symlink_to(Path("..").resolve() / "project" / "data")
    (data / "line\nbreak").write_text("")
    os.close(os.open(os.fsencode(data) + b"/\xff.txt", os.O_CREAT))
    os.mkfifo(data / "pipe")
    found = failures(include=["*", "a{b,c}"], exclude=["..", "old"])
    assert [text.partition(":")[0] for text in found] == ["include[1]", "exclude[0]"]
    found = failures()
    assert len(found) == 6
    said = " ".join(found)
    assert "broken: is a link to nowhere, which does not exist" in said
    assert r"line\nbreak: the object name" in said
    assert "out: is a link out of the project" in said
    assert "pipe: is neither a file nor a folder" in said
    assert "sub/up: is a link to" in said
    assert "a folder that it is in" in said
    assert "its name is not UTF-8" in said
    assert "private" not in said
    assert failures(exclude=["out", "broken", "up", "line*", "pipe", "[!ab].txt"]) == []


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"source": "nowhere"}, "source: nowhere does not exist. Correct the path."),
        ({"source": "data/a.txt"}, "source: data/a.txt is a file. Use StagedFile for it."),
        ({"prefix": "/"}, "prefix: it is empty."),
        ({"prefix": "x" * 1020}, "a.txt: the object name"),
        ({"on_delete": "kept"}, "on_delete: the string 'kept' is not one of delete, keep"),
        ({"include": ["*.jpg"]}, "source: include and exclude leave no file of data."),
    ],
)
def test_inputs_that_are_refused(engine: SmallEngine, inputs: dict[str, Any], words: str) -> None:
    assert words in " ".join(failures(**inputs))


def test_a_folder_without_files_is_refused(engine: SmallEngine) -> None:
    Path("empty", "sub").mkdir(parents=True)
    assert failures(source="empty/sub") == ["source: empty/sub is empty. Add files."]
    Path("empty", ".hidden").write_text("")
    (reason,) = failures(source="empty")
    assert reason.startswith("source: empty has no files, only 1 hidden name (.hidden; ")
    assert "1 empty folder (sub/; Cloud Storage has no folders)." in reason


def test_links_inside_the_project_are_followed(engine: SmallEngine, endpoint: Endpoint) -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere", "c.txt").write_text("c")
    Path("data", "linked").symlink_to(Path("..", "elsewhere"))
    Path("data", "d.txt").symlink_to("a.txt")
    engine.up([bucket(), folder("a")])
    assert sorted(there(endpoint)) == ["a.txt", "d.txt", "linked/c.txt", "sub/b.txt"]
    engine.destroy()


def test_patterns_choose_the_files(engine: SmallEngine, endpoint: Endpoint) -> None:
    for path in (".zarray", "sub/.zgroup", "sub/c.tmp"):
        Path("data", path).write_text(path)
    engine.up([bucket(), folder("a", include=["sub", "**/.z*"], exclude=["*.tmp"])])
    assert sorted(there(endpoint)) == [".zarray", "sub/.zgroup", "sub/b.txt"]
    assert engine.up([bucket(), folder("a", include=[".z*", "sub/*.txt"])]) == 0  # the same files
    engine.destroy()


def test_a_file_that_changes_between_check_and_create_is_refused(engine: SmallEngine) -> None:
    provider = StagedFolderProvider()
    inputs = {**PLACE, "bucket": BUCKET, "source": "data", "prefix": "folders"}
    checked = provider.check({}, inputs).inputs
    Path("data", "a.txt").write_text("another a")
    with pytest.raises(Exception, match=r"data changed during the deployment: 1 changed \(a.txt\)"):
        provider.create(checked)
    Path("data", "a.txt").unlink()
    with pytest.raises(Exception, match=r"data changed during the deployment: 1 removed \(a.txt\)"):
        provider.create(checked)


def test_a_file_that_changes_while_it_is_sent_leaves_no_object(
    engine: SmallEngine, endpoint: Endpoint
) -> None:
    engine.up([bucket()])

    def changing(request: PreparedRequest, send: Callable[[], Response]) -> Response:
        """Change a file after the hashes are known: the first request of a creation lists the folder."""
        if request.method == "GET" and "prefix=folders" in str(request.url):
            Path("data", "a.txt").write_text("b")
        return send()

    with (
        clients.middleware(changing),
        pytest.raises(Exception, match=r"source: a.txt changed during the deployment"),
    ):
        engine.up([bucket(), folder("a")])
    assert "a.txt" not in there(endpoint)
    engine.up([bucket(), folder("a")])  # as the file is now
    assert sorted(there(endpoint)) == ["a.txt", "sub/b.txt"]
    engine.destroy()


def test_the_objects_of_two_stacks_are_shared(
    engine: SmallEngine, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.up([bucket(), folder("a", "stack-a"), folder("b", "stack-b")])
    assert all(SHARED_KEY in one.metadata for one in there(endpoint).values())
    engine.up([bucket()])
    assert "2 files kept: staged more than once, so another stack may use them" in capsys.readouterr().out
    assert sorted(there(endpoint)) == ["a.txt", "sub/b.txt"]
    engine.destroy()


def test_objects_of_others_below_the_folder_stay(engine: SmallEngine, endpoint: Endpoint) -> None:
    engine.up([bucket(), folder("a")])
    root = engine.outputs()["a"]["uri"].removeprefix(f"gs://{BUCKET}/")
    objects.upload(endpoint, BUCKET, f"{root}/mine.txt", b"mine")
    assert engine.refresh()
    engine.up([bucket()])
    assert list(there(endpoint)) == ["mine.txt"]
    engine.destroy()


def test_kept_objects_stay_until_their_resource_deletes_again(
    engine: SmallEngine, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.up([bucket(), folder("a")])
    assert engine.up([bucket(), folder("a", on_delete="keep")]) == 1
    assert {one.metadata[STAGED_KEY] for one in there(endpoint).values()} == {"kept"}
    Path("data", "a.txt").write_text("another a")
    engine.up([bucket(), folder("a", on_delete="keep")])
    assert "is kept: its on_delete is keep" in capsys.readouterr().out
    assert len(list(objects.list_objects(endpoint, BUCKET))) == 4
    engine.up([bucket(), folder("a", on_delete="delete")])
    Path("data", "a.txt").write_text("a third a")
    engine.up([bucket(), folder("a", on_delete="delete")])
    # Those of the first version were kept for good, those of the second are replaced.
    assert sorted(len(one.metadata[STAGED_KEY]) for one in objects.list_objects(endpoint, BUCKET)) == [
        len("kept"),
        len("kept"),
        len("stack-a"),
        len("stack-a"),
    ]
    engine.destroy()


def test_only_missing_files_are_sent_after_an_interruption(engine: SmallEngine, endpoint: Endpoint) -> None:
    engine.up([bucket(), folder("a")])
    generation = there(endpoint)["a.txt"].generation
    objects.delete(endpoint, BUCKET, there(endpoint)["sub/b.txt"].name)
    engine.entries = [one for one in engine.entries if one.name == "bucket"]  # as a kill leaves it
    engine.up([bucket(), folder("a")])
    found = there(endpoint)
    assert sorted(found) == ["a.txt", "sub/b.txt"]
    assert found["a.txt"].generation == generation
    assert not any(SHARED_KEY in one.metadata for one in found.values())
    engine.destroy()
