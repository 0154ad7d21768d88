"""Killed creations of resources that the program does not declare any more, or calls by another name.

The whole deployment is killed when the service has carried the creation out, so no state has what it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from support.engine import Engine, Result
from support.kills.stage import UP, Moment, Stage, Victim, at
from support.shared_engine import mentions

BUCKET = 'bucket = vt.StagingBucket("bucket", name="declared")\n'
IMAGES = 'images = vt.ImageRepository("images", repository_id="declared")\n'
DATA = 'import pathlib\npathlib.Path("data.txt").write_text("{content}")\n'
FILE = 'vt.StagedFile("{name}", bucket=bucket, source="data.txt"{more})\n'
IMAGE = """
pathlib.Path("source").mkdir(exist_ok=True)
pathlib.Path("source/task.py").write_text("print({content!r})")
image = {{"source": "source", "base_image": "python:3.11-slim", "tags": ["{name}"], "on_delete": "delete"}}
vt.TrainingImage("{name}", repository=images, **image)
"""


@dataclass(kw_only=True)
class Trial:
    """A stack with a bucket and a repository."""

    stage: Stage

    def killed(self, program: str, method: str) -> None:
        """Deploy the program, and kill all when the service has carried out the first call of a method."""
        self.declare(program)
        self.stage.interrupt(UP, at(method, Moment.CARRIED_OUT), Victim.BOTH)
        self.stage.settle()

    def declare(self, program: str) -> None:
        self.stage.engine.write(BUCKET + IMAGES + program)

    def up(self, program: str = "") -> Result:
        self.declare(program)
        return self.stage.engine.up().ok()

    def unchanged(self) -> Result:
        """Deploy once more; there is nothing to do."""
        return self.stage.engine.up("--expect-no-changes").ok()

    def names(self, collection: str) -> list[str]:
        return sorted(one["name"].rpartition("/")[2] for one in self.stage.listed(collection))

    def images(self) -> list[str]:
        """Return the tags of all images."""
        packages = "/v1/projects/local/locations/us-central1/repositories/declared/dockerImages"
        found = self.stage.control.call("GET", packages).get("dockerImages", [])
        return sorted(",".join(one.get("tags", [])) for one in found)

    def notes(self) -> list[Path]:
        assert self.stage.data_dir is not None
        return list((self.stage.data_dir / "creations").glob("*.begun"))


@pytest.fixture(scope="module")
def trial(shared_engine: Engine) -> Trial:
    trial = Trial(stage=Stage(shared_engine))
    trial.up()
    return trial


def test_what_is_not_declared_any_more_is_deleted(trial: Trial) -> None:
    trial.killed('vt.StagingBucket("removed", name="removed")\n', "storage.buckets.insert")
    assert trial.names("buckets") == ["declared", "removed"]
    trial.declare("")
    preview = trial.stage.engine.preview().ok()
    assert mentions(
        preview.output,
        "bucket removed: an interrupted deployment of this stack began to create it, and it is not declared. "
        "If it exists and is unused, it is deleted",
    )
    assert trial.names("buckets") == ["declared", "removed"]
    deployed = trial.stage.engine.up().ok()
    assert mentions(deployed.output, "it is not declared; it is deleted")
    assert trial.names("buckets") == ["declared"]
    assert trial.notes() == []
    assert "an interrupted deployment" not in trial.unchanged().output


def test_one_that_is_declared_again_stays(trial: Trial) -> None:
    program = 'vt.StagingBucket("back", name="back")\n'
    trial.killed(program, "storage.buckets.insert")
    assert "it is deleted" not in trial.up(program).output
    assert trial.names("buckets") == ["back", "declared"]
    trial.unchanged()
    trial.up()
    assert trial.names("buckets") == ["declared"]


@pytest.mark.parametrize(
    ("declaration", "method", "collection"),
    [
        pytest.param(
            'vt.StagingBucket("{name}", name="renamed")\n', "storage.buckets.insert", "buckets", id="bucket"
        ),
        pytest.param(
            'vt.ImageRepository("{name}", repository_id="renamed")\n',
            "CreateRepository",
            "repositories",
            id="repository",
        ),
    ],
)
def test_another_resource_name_with_the_same_id(
    trial: Trial, declaration: str, method: str, collection: str
) -> None:
    trial.killed(declaration.format(name="old"), method)
    trial.declare(declaration.format(name="new"))
    trial.stage.engine.preview().ok()
    trial.stage.engine.up().ok()
    assert trial.names(collection) == ["declared", "renamed"]
    assert trial.notes() == []
    trial.unchanged()
    trial.up()
    assert trial.names(collection) == ["declared"]


def test_a_file_that_has_another_resource_name_now_stays(trial: Trial) -> None:
    before = trial.names("objects")
    data = DATA.format(content="the same")
    trial.killed(data + FILE.format(name="old", more=""), "storage.objects.insert")
    made = trial.names("objects")
    assert len(made) == len(before) + 1
    trial.up(data + FILE.format(name="new", more=""))
    assert trial.names("objects") == made
    assert trial.notes() == []
    trial.unchanged()
    assert trial.names("objects") == made
    trial.up()
    assert trial.names("objects") == before


def test_a_file_that_is_kept_now_stays(trial: Trial) -> None:
    before = trial.names("objects")
    data = DATA.format(content="kept")
    trial.killed(data + FILE.format(name="weights", more=""), "storage.objects.insert")
    made = trial.names("objects")
    assert len(made) == len(before) + 1
    kept = ", opts=pulumi.ResourceOptions(retain_on_delete=True)"
    trial.up(data + FILE.format(name="weights", more=kept))
    assert trial.names("objects") == made
    trial.up()
    assert trial.names("objects") == made


def test_an_image_that_has_another_resource_name_now_stays(trial: Trial) -> None:
    imports = "import pathlib\n"
    trial.killed(imports + IMAGE.format(name="old", content="the same"), "registry.manifests.put")
    assert trial.images() == [""]  # the tags would follow
    trial.up(imports + IMAGE.format(name="new", content="the same"))
    assert trial.images() == ["new"]
    assert trial.notes() == []
    trial.killed(imports + IMAGE.format(name="new", content="the other"), "registry.manifests.put")
    trial.up()
    assert trial.images() == []
    assert trial.notes() == []
