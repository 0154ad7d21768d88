"""`vertex-training promote` on the real engine: one program, two stacks, each in a project of its own.

The steps are those of a team: try in `dev`, promote to a `prod` that was never deployed, promote a second
version, and roll back to the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.emulated import command
from support.emulated.command import Ended

pytestmark = pytest.mark.slow

PROGRAM = """
config.require("epochs")
bucket = vt.StagingBucket("staging", force_destroy=True)
repository = vt.ImageRepository("trainers", force_destroy=True)
image = vt.TrainingImage(
    "digits", repository=repository, source="trainer", base_image="python:3.11-slim",
    command=["python3", "task.py"],
)
package = vt.StagedPackage("code", bucket=bucket, source="features", version="1.0")
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=machine, container_spec=vt.ContainerSpecArgs(image_uri=image.uri)
        ),
        vt.WorkerPoolSpecArgs(
            machine_spec=machine,
            python_package_spec=vt.PythonPackageSpecArgs(
                executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
                package_uris=[package.uri],
                python_module=package.python_module,
                args=["--epochs", config.require("epochs")],
            ),
        ),
    ],
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("image", image.uri)
pulumi.export("sent", image.sent_bytes)
pulumi.export("package", package.uri)
pulumi.export("sha256", package.sha256)
pulumi.export("job", job.id)
pulumi.export("state", job.completion["state"])
"""
CONFIG = """# What a promotion copies is listed here.
config:
  vertex-training:endpoint: emulator
  vertex-training:lookupTimeout: "120"
  vertex-training:project: {project}
  engine-test:epochs: "{epochs}"
  engine-test:region: {project}-region
"""
DONE = """
import os, pathlib, time
done = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"), "done")
"""
IMAGE_TASK = (
    DONE
    + """
while not (done.exists() and done.read_text()):
    time.sleep(0.05)
print("image {number} with", done.read_text())
"""
)
PACKAGE_TASK = (
    DONE
    + """
done.parent.mkdir(parents=True, exist_ok=True)
done.write_text("package {number}")
"""
)
SECRET = "swordfish-of-dev"
DECLARED = """  vertex-training:promote:
    config:
      - epochs
    secrets:
      - token
"""


def document(ended: Ended) -> dict[str, Any]:
    """Return the JSON of a promotion that worked."""
    assert ended.code == 0, ended.err + ended.out
    found = ended.json
    assert isinstance(found, dict)
    return found


def copies(ended: Ended) -> dict[str, str]:
    """Return how each artifact is copied, by its kind."""
    return {one["kind"]: one["copy"] for one in document(ended)["artifacts"]}


@dataclass(frozen=True, kw_only=True)
class Project:
    """One program with the stacks `dev` and `prod`."""

    engine: Engine

    def on(self, stack: str) -> Engine:
        self.engine.environment["PULUMI_STACK"] = stack
        return self.engine

    def config_file(self, stack: str) -> Path:
        return self.engine.folder / f"Pulumi.{stack}.yaml"

    def promote(self, *arguments: str) -> Ended:
        words = ("promote", "--from", "dev", "--to", "prod", *arguments)
        return self.command(*words)

    def command(self, *words: str) -> Ended:
        return command.run(*words, env=self.engine.environment, folder=self.engine.folder, timeout=300)

    def version(self, number: int) -> None:
        """Write the sources of a version."""
        infra = self.engine.folder / "infra"
        for folder in ("trainer", "features"):
            (infra / folder).mkdir(exist_ok=True)
        (infra / "trainer" / "task.py").write_text(IMAGE_TASK.format(number=number))
        (infra / "features" / "task.py").write_text(PACKAGE_TASK.format(number=number))

    def up(self, stack: str) -> dict[str, Any]:
        self.on(stack).up().ok()
        return self.engine.outputs()

    def preview_and_up(self, stack: str) -> tuple[Result, dict[str, Any]]:
        """Return the preview, and the outputs of the deployment."""
        preview, deployed = self.on(stack).preview_and_up()
        deployed.ok()
        return preview, self.engine.outputs()


@dataclass(kw_only=True)
class Steps:
    """The output of the commands of the steps, and the outputs of the stacks after each deployment."""

    no_stack: Ended
    no_run: Ended
    planned: Ended
    texts: list[str]
    """The configuration file of `prod`: before the plan, after it, and after the promotion."""
    promoted: Ended
    preview: Result
    logs: Ended
    """The log of the first job of `prod`, in which the image waits for the package."""
    unchanged: Result
    again: Ended
    interrupted: Ended
    interrupted_file: str
    second: Ended
    second_preview: Result
    rolled_back: Ended
    rolled_back_file: dict[str, Any]
    failed_run: Ended
    lost: list[Result | Ended]
    """A preview of `prod` whose image was deleted after the promotion, and the promotion again."""
    dev: list[dict[str, Any]]
    prod: list[dict[str, Any]]
    secret: Result
    images: dict[str, bool]
    """True if `prod` has the tag `latest` at the image that it runs at last; and each package."""


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    project = Project(engine=shared_engine)
    engine = shared_engine
    engine.environment |= {"PIP_NO_INDEX": "1"}
    engine.write(PROGRAM)
    project.version(1)
    for stack, epochs in (("dev", 1), ("prod", 7)):
        text = CONFIG.format(project=f"{stack}-project", epochs=epochs)
        project.config_file(stack).write_text(text + (DECLARED if stack == "dev" else ""))
    engine.add_stack("dev")
    project.on("dev").run("config", "set", "--secret", "token", SECRET).ok()
    no_stack = project.promote()
    engine.add_stack("prod")
    no_run = project.promote()
    dev = [project.up("dev")]

    texts = [project.config_file("prod").read_text()]
    planned = project.promote("--json")
    texts.append(project.config_file("prod").read_text())
    promoted = project.promote("--yes")
    texts.append(project.config_file("prod").read_text())
    secret = project.on("prod").run("config", "get", "token").ok()
    project.version(2)  # the checkout goes on before prod is deployed
    preview, outputs = project.preview_and_up("prod")
    prod = [outputs]
    logs = project.command("logs", prod[0]["job"])
    unchanged = project.on("prod").preview("--expect-no-changes")
    again = project.promote("--json", "--yes")

    project.on("dev").set("epochs", "2")
    dev.append(project.up("dev"))
    project.command("emulator", "fault", "add", "registry.manifests.put", "--status", "403")
    interrupted = project.promote("--yes")
    interrupted_file = project.config_file("prod").read_text()
    second = project.promote("--json", "--yes")
    second_preview, outputs = project.preview_and_up("prod")
    prod.append(outputs)
    rolled_back = project.promote("--run", "train/1", "--json", "--yes")
    rolled_back_file = yaml.safe_load(project.config_file("prod").read_text())["config"]
    prod.append(project.up("prod"))
    latest = registry.digest_at(engine.endpoint(), parse(prod[2]["image"].partition("@")[0] + ":latest"))
    packages = [objects.find(engine.endpoint(), *address(each["package"])) for each in prod]

    project.promote("--run", "train/2", "--yes")
    for each in (dev[1], prod[1]):
        registry.delete(engine.endpoint(), parse(each["image"]))
    lost: list[Result | Ended] = [project.on("prod").preview(), project.promote("--run", "train/2")]
    (engine.folder / "infra" / "trainer" / "task.py").write_text("raise SystemExit(3)\n")
    project.on("dev").up().failed()
    return Steps(
        no_stack=no_stack,
        no_run=no_run,
        planned=planned,
        texts=texts,
        promoted=promoted,
        preview=preview,
        logs=logs,
        unchanged=unchanged,
        again=again,
        interrupted=interrupted,
        interrupted_file=interrupted_file,
        second=second,
        second_preview=second_preview,
        rolled_back=rolled_back,
        rolled_back_file=rolled_back_file,
        failed_run=project.promote(),
        lost=lost,
        dev=dev,
        prod=prod,
        secret=secret,
        images={"latest": latest == digest(prod[2]), "packages": None not in packages},
    )


def address(uri: str) -> tuple[str, str]:
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return bucket, name


def digest(outputs: dict[str, Any]) -> str:
    """Return the digest of the image in a stack's outputs."""
    return str(outputs["image"].rpartition("@")[2])


def test_without_a_stack_or_a_run_the_error_names_the_remedy(steps: Steps) -> None:
    assert (steps.no_stack.code, steps.no_stack.out) == (2, "")
    assert "There is no stack 'prod'" in steps.no_stack.err
    assert "Create it with `pulumi stack init prod --no-select`." in steps.no_stack.err
    assert steps.no_run.code == 1
    assert "stack dev has no job, so nothing has been tried there." in steps.no_run.err
    assert "`pulumi up --stack dev`" in steps.no_run.err


def test_a_plan_changes_nothing(steps: Steps) -> None:
    plan = document(steps.planned)
    assert (plan["changes"], plan["done"]) == (True, False)
    assert copies(steps.planned) == {"image": "later", "package": "later"}
    image, package = plan["artifacts"]
    assert (image["new"], image["source"]) == (digest(steps.dev[0]), steps.dev[0]["image"])
    assert (package["new"], package["source"]) == (steps.dev[0]["sha256"], steps.dev[0]["package"])
    assert {one["run"] for one in plan["artifacts"]} == {"train/1"}
    assert {one["target"] for one in plan["artifacts"]} == {None}
    assert steps.texts[0] == steps.texts[1]


def test_a_promotion_is_written_where_a_review_sees_it(steps: Steps) -> None:
    text = steps.texts[2]
    config = yaml.safe_load(text)["config"]
    found = config["vertex-training:promoted"]
    assert found["images"]["digits"] | {"job": ""} == {
        "digest": digest(steps.dev[0]),
        "job": "",
        "run": "train/1",
        "source": steps.dev[0]["image"].partition("@")[0],
        "stack": "dev",
    }
    assert found["packages"]["code"]["sha256"] == steps.dev[0]["sha256"]
    assert found["packages"]["code"]["pythonModule"] == "features.task"
    assert config["engine-test:epochs"] == "1"
    assert config["engine-test:region"] == "prod-project-region", "not listed"
    assert text.startswith("# What a promotion copies is listed here.\n")
    assert "Pulumi.prod.yaml has the promotion" in steps.promoted.out


def test_a_secret_is_copied_by_name_and_never_shown(steps: Steps) -> None:
    assert steps.secret.output.strip() == SECRET
    assert list(yaml.safe_load(steps.texts[2])["config"]["engine-test:token"]) == ["secure"]
    for each in (steps.planned, steps.promoted, steps.again):
        assert SECRET not in each.out + each.err
    assert "[secret]" in steps.promoted.out


def test_the_other_stack_runs_what_was_tried_and_not_what_the_checkout_has(steps: Steps) -> None:
    dev, prod = steps.dev[0], steps.prod[0]
    said = mentions(steps.preview.ok().output, "promoted from stack dev, run train/1")
    assert f"image digits: promoted from stack dev, run train/1, and not built here: {digest(dev)}" in said
    assert f"and not packed here: {dev['sha256']}" in said
    assert (digest(prod), prod["sha256"]) == (digest(dev), dev["sha256"])
    assert prod["image"].partition("@")[0] != dev["image"].partition("@")[0]
    assert (prod["state"], prod["sent"]) == ("SUCCEEDED", 0)
    assert "image 1 with package 1" in steps.logs.out
    steps.unchanged.ok()
    assert not document(steps.again)["changes"]
    assert copies(steps.again) == {"image": "there", "package": "there"}


def test_a_second_promotion_copies_without_sending(steps: Steps) -> None:
    image, _ = document(steps.second)["artifacts"]
    assert copies(steps.second) == {"image": "mount", "package": "copy"}
    assert (image["sentBytes"], image["old"]) == (0, digest(steps.dev[0]))
    assert (digest(steps.prod[1]), steps.prod[1]["sha256"]) == (digest(steps.dev[1]), steps.dev[1]["sha256"])
    assert digest(steps.prod[1]) != digest(steps.prod[0])
    assert steps.prod[1]["job"] != steps.prod[0]["job"]
    was, becomes = (digest(each)[:19] for each in steps.prod[:2])
    said = mentions(steps.second_preview.ok().output, "chief: image")
    assert was in said
    assert becomes in said


def test_an_interrupted_promotion_changes_no_configuration_and_is_continued(steps: Steps) -> None:
    assert steps.interrupted.code == 1
    assert "Could not push image" in steps.interrupted.err
    assert steps.interrupted_file == steps.texts[2]
    image, _ = document(steps.second)["artifacts"]
    assert image["mountedBlobs"] == 0, "the first try has mounted them"


def test_an_earlier_run_is_rolled_back_to_with_its_configuration(steps: Steps) -> None:
    assert document(steps.rolled_back)["run"] == "train/1"
    assert copies(steps.rolled_back) == {"image": "there", "package": "there"}
    assert steps.rolled_back_file["engine-test:epochs"] == "1"
    assert (digest(steps.prod[2]), steps.prod[2]["sha256"]) == (digest(steps.dev[0]), steps.dev[0]["sha256"])
    assert steps.prod[2]["state"] == "SUCCEEDED"
    assert steps.images == {"latest": True, "packages": True}


def test_a_vanished_image_is_an_error_before_anything_changes(steps: Steps) -> None:
    preview, again = steps.lost
    assert isinstance(preview, Result)
    assert isinstance(again, Ended)
    said = mentions(preview.failed().output, "no longer exists")
    assert f"promoted: the image {digest(steps.dev[1])}, promoted from stack dev, run train/2" in said
    assert "`vertex-training promote --from dev --to STACK --run RUN`" in said
    assert again.code == 1
    assert f"image digits: {steps.dev[1]['image']} no longer exists. Deploy stack dev again" in again.err


def test_a_failed_run_is_not_promoted_and_the_last_good_one_is_named(steps: Steps) -> None:
    assert steps.failed_run.code == 1
    assert "run train/3" in steps.failed_run.err
    assert "is FAILED, not SUCCEEDED" in steps.failed_run.err
    assert "`vertex-training promote --from dev --to prod --run train/2`" in steps.failed_run.err
