"""The engine of `support.client.in_process.small_engine` calls providers as Pulumi's engine does.

Every operation runs on both, each with an emulator of its own, and all calls that came to a provider are
compared: method, id, inputs and outputs, and whether it ended. What that engine is used for elsewhere in the
tests is a proof of the product as far as this one holds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.client import engine as real
from support.client.in_process.small_engine import SmallEngine, kills
from support.client.kills.stage import DESTROY, REFRESH, UP, Hold, Moment, Stage, Victim
from support.in_process import recorded_calls
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset

pytestmark = pytest.mark.slow

JOBS = "/v1/projects/local/locations/us-central1/customJobs"
HOLD = Path(real.__file__).parent / "kills" / "hold"
GROUPS = (
    ("StackKeyProvider",),
    ("StagingBucketProvider",),
    ("CustomJobProvider",),
    ("ModelProvider",),
    ("PersistentResourceProvider",),
)
"""The calls of a group are in one order; the real engine makes those of different groups at the same time."""
ALONE = tuple((name,) for group in GROUPS for name in group)
"""The groups of a refresh, whose reads do not depend on each other."""

TRAINING = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
PROGRAM = f"""
spec, note, parts = {{spec!r}}, {{note!r}}, {{parts!r}}
pool = {{{{"machine_spec": {{{{"machine_type": "n1-standard-4"}}}}, "replica_count": 1}}}}
env = [{{{{"name": "SPEC", "value": spec}}}}]
trains = {{{{"image_uri": "{TRAINING}", "command": ["sleep", "600"], "env": env}}}}
if "bucket" in parts:
    bucket = vt.StagingBucket("bucket", name="staging", force_destroy=True)
if "job" in parts:
    to = {{{{"staging_bucket": bucket}}}} if "bucket" in parts else {{{{}}}}
    pools = [{{{{**pool, "container_spec": trains}}}}]
    vt.CustomJob("train", worker_pool_specs=pools, wait="none", on_replace="delete", **to)
if "model" in parts:
    vt.Model(
        "digits",
        display_name=note,
        model_id="digits",
        on_delete="delete",
        container_spec={{{{"image_uri": "{SERVING}", "env": env}}}},
        description=note,
        version_description=note,
        version_aliases=[note],
        labels={{{{"note": note}}}},
    )
if "resource" in parts:
    vt.PersistentResource(
        "gpus",
        persistent_resource_id="gpus",
        resource_pools=[{{{{**pool, "replica_count": len(note), "id": spec.lower()}}}}],
        display_name=note,
    )
"""
ALL = ("bucket", "job", "model", "resource")
Step = Callable[["Pulumi | InProcess"], None]


class Pulumi:
    """The real engine."""

    def __init__(self, engine: real.Engine) -> None:
        self.stage, self.file = Stage(engine), engine.folder / "calls"
        engine.environment |= {"PYTHONPATH": str(HOLD), "RECORDED_CALLS": str(self.file)}
        self.normaliser = recorded_calls.Normaliser()

    @property
    def control(self) -> Control:
        return self.stage.control

    def declare(self, spec: str, note: str, parts: Sequence[str]) -> None:
        text = PROGRAM.format(spec=spec, note=note, parts=tuple(parts))
        self.stage.engine.write(text)

    def up(self, *, replace: Sequence[str] = ()) -> bool:
        urns = [self._urn(name) for name in replace]
        words = [word for urn in urns for word in ("--replace", urn)]
        return self.stage.run(*UP, *words).code == 0

    def refresh(self) -> bool:
        return self.stage.run(*REFRESH).code == 0

    def destroy(self) -> bool:
        return self.stage.run(*DESTROY).code == 0

    def kill(self, operation: str, method: str, moment: Moment, *, replace: Sequence[str] = ()) -> None:
        words = [word for name in replace for word in ("--replace", self._urn(name))]
        command = {"up": (*UP, *words), "destroy": DESTROY}[operation]
        self.stage.interrupt(command, Hold(what=method, moment=moment), Victim.BOTH)
        self.stage.settle()

    def calls(self) -> list[recorded_calls.Call]:
        found = recorded_calls.read(self.file)
        self.file.unlink(missing_ok=True)
        return found

    def _urn(self, name: str) -> str:
        (urn,) = [
            one["urn"] for one in self.stage.checkpoint()["resources"] if one["urn"].endswith(f"::{name}")
        ]
        return str(urn)


class InProcess:
    """The engine in this process."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
        self.program = ""
        self.normaliser = recorded_calls.Normaliser()

    @property
    def control(self) -> Control:
        emulator = launcher.ensure(self.data_dir)
        return Control(url=emulator.url, token=emulator.token)

    def declare(self, spec: str, note: str, parts: Sequence[str]) -> None:
        self.program = PROGRAM.format(spec=spec, note=note, parts=tuple(parts))

    def up(self, *, replace: Sequence[str] = ()) -> bool:
        return self._done(lambda: self.engine.up(self.program, replace=replace))

    def refresh(self) -> bool:
        return self._done(self.engine.refresh)

    def destroy(self) -> bool:
        return self._done(self.engine.destroy)

    def kill(self, operation: str, method: str, moment: Moment, *, replace: Sequence[str] = ()) -> None:
        verb, path = {
            "CreateCustomJob": ("POST", r"/customJobs(\?|$)"),
            "DeleteCustomJob": ("DELETE", "/customJobs/"),
            "UpdateModel": ("PATCH", "/models/"),
        }[method]
        when = {Moment.LOST: "before", Moment.CARRIED_OUT: "after", Moment.ANSWERED: "after"}[moment]
        seen = False

        def at(what: str) -> bool:
            nonlocal seen
            is_call = re.match(f"{when} {verb} .*{path}", what) is not None
            if moment is Moment.ANSWERED:
                seen = seen or is_call
                return seen and what.startswith("before the record")
            return is_call

        run = {"up": lambda: self.engine.up(self.program, replace=replace), "destroy": self.engine.destroy}
        assert kills(self.engine, run[operation], at)

    def calls(self) -> list[recorded_calls.Call]:
        return self.engine.forget_calls()

    def _done(self, operation: Callable[[], object]) -> bool:
        try:
            operation()
        except Exception:
            return False
        return True


Engines = tuple[Pulumi, InProcess]


@pytest.fixture(scope="module")
def engines(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    ours = tmp_path_factory.mktemp("in process")
    pulumi = Pulumi(real.copy(template, tmp_path_factory.mktemp("pulumi") / "project"))
    try:
        yield pulumi, InProcess(ours)
    finally:
        pulumi.stage.settle()
        pulumi.destroy()
        for data_dir in (pulumi.stage.data_dir, ours):
            assert data_dir is not None
            emulator_reset.stop_and_end_jobs(data_dir)


@pytest.fixture(autouse=True)
def nothing_is_deployed(engines: Engines) -> None:
    """Begin without the resources of a test that broke off."""
    pulumi, ours = engines
    if pulumi.stage.checkpoint().get("resources") or ours.engine.entries:
        assert [each.destroy() for each in engines] == [True, True]
    for each in engines:
        each.control.clear_faults()
        each.calls()


def both(
    engines: Engines,
    step: Callable[[Any], object],
    groups: Sequence[Sequence[str]] = GROUPS,
    *,
    without: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Take the step on both engines, compare the calls, and return those for declared resources."""
    results, found = [], []
    for each in engines:
        results.append(step(each))
        calls = [call for call in each.calls() if call.provider not in without]
        grouped = [[call for call in calls if call.provider in group] for group in groups]
        assert sum(map(len, grouped)) == len(calls)
        found.append([each.normaliser.calls(group) for group in grouped])
    for theirs, ours in zip(*found, strict=True):
        assert [_name(call) for call in ours] == [_name(call) for call in theirs]
        different = [
            line
            for of_pulumi, of_ours in zip(theirs, ours, strict=True)
            for line in differences(_name(of_ours), of_pulumi, of_ours)
        ]
        assert not different, "\n".join(different)
    assert results[0] == results[1]
    every = itertools.chain.from_iterable(found[0])
    return [each for each in every if each["provider"] != "StackKeyProvider"]


def differences(where: str, one: Any, other: Any) -> Iterator[str]:
    """Yield each difference with its path: the value of the real engine, and that of the other."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differences(f"{where}.{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(f"{where}[{position}]", *pair)
    elif one != other:
        yield f"{where}: {one!r} is {other!r} in the test's process"


def _name(call: dict[str, Any]) -> str:
    return f"{call['provider']}.{call['method']}"


def until_running(each: Pulumi | InProcess) -> None:
    def is_running() -> bool:
        jobs = each.control.call("GET", JOBS).get("customJobs", [])
        return all(job["state"] != "JOB_STATE_PENDING" for job in jobs)

    eventually(is_running)


def delete_job(each: Pulumi | InProcess) -> None:
    """Delete the one job past the engine."""
    (job,) = each.control.call("GET", JOBS)["customJobs"]
    each.control.call("POST", f"/v1/{job['name']}:cancel")
    eventually(lambda: each.control.call("GET", f"/v1/{job['name']}")["state"] == "JOB_STATE_CANCELLED")
    each.control.call("DELETE", f"/v1/{job['name']}")


def names(calls: list[dict[str, Any]], *methods: str) -> list[str]:
    return [_name(call) for call in calls if call["method"] in methods]


def test_a_life_of_all_kinds(engines: Engines) -> None:
    def up(spec: str, note: str, replace: Sequence[str] = ()) -> Callable[[Any], object]:
        def step(each: Any) -> bool:
            each.declare(spec, note, ALL)
            return bool(each.up(replace=replace))

        return step

    first = both(engines, up("A", "first"))
    assert len(names(first, "create")) == 4
    same = both(engines, up("A", "first"))
    assert len(names(same, "diff")) == 4
    assert names(same, "create", "update", "delete") == []
    for each in engines:
        until_running(each)
    assert len(names(both(engines, lambda each: each.refresh(), ALONE), "read")) == 4
    changed = both(engines, up("A", "second"))
    assert names(changed, "update") == ["ModelProvider.update", "PersistentResourceProvider.update"]
    replaced = both(engines, up("B", "second"))
    assert len(names(replaced, "create")) == 3
    assert names(replaced, "update") == []
    demanded = both(engines, up("B", "second", replace=("train", "digits", "gpus")))
    assert len(names(demanded, "create")) == len(names(demanded, "delete")) == 3
    for each in engines:
        delete_job(each)
    both(engines, lambda each: each.refresh(), ALONE)
    again = both(engines, up("B", "second"))
    assert names(again, "create") == ["CustomJobProvider.create"]
    removed = both(engines, lambda each: each.destroy())
    assert len(names(removed, "delete")) == 4


def test_failures(engines: Engines) -> None:
    def up(each: Any) -> bool:
        each.declare("A", "first", ["job"])
        return bool(each.up())

    for each in engines:
        each.control.add_fault({"method": "CreateCustomJob", "status": 403})
    failed = both(engines, up)
    assert [call["has_ended"] for call in failed] == [True, False]
    assert both(engines, up)[-1]["has_ended"]

    for each in engines:
        until_running(each)
        each.control.add_fault({"method": "DeleteCustomJob", "status": 403})
    # The real engine deletes the stack's key meanwhile, on which no resource depends.
    key = ["StackKeyProvider"]
    failed = both(engines, lambda each: each.destroy(), without=key)
    assert [call["has_ended"] for call in failed] == [False]
    deleted = both(engines, lambda each: each.destroy(), without=key)
    assert names(deleted, "delete") == ["CustomJobProvider.delete"]


def test_kills(engines: Engines) -> None:
    """Follow each kill by an `up`, which finds what the killed deployment has left."""

    def killed(
        spec: str, note: str, parts: Sequence[str], method: str, moment: Moment
    ) -> Callable[[Any], None]:
        def step(each: Any) -> None:
            each.declare(spec, note, parts)
            each.kill("up", method, moment)

        return step

    def up(each: Any) -> bool:
        return bool(each.up())

    created = both(engines, killed("A", "first", ["job"], "CreateCustomJob", Moment.CARRIED_OUT))
    assert [call["has_ended"] for call in created] == [True, False]
    both(engines, up)
    replaced = both(engines, killed("B", "first", ["job"], "DeleteCustomJob", Moment.CARRIED_OUT))
    assert _name(replaced[-1]) == "CustomJobProvider.delete"
    both(engines, up)
    replaced = both(engines, killed("C", "first", ["job"], "CreateCustomJob", Moment.LOST))
    assert _name(replaced[-1]) == "CustomJobProvider.create"
    assert names(both(engines, up), "create", "delete") == ["CustomJobProvider.create"]

    def jobs(each: Any) -> list[Any]:
        return sorted(one["name"] for one in each.control.call("GET", JOBS)["customJobs"])

    for moment in (Moment.LOST, Moment.CARRIED_OUT):
        both(engines, lambda each: each.kill("up", "CreateCustomJob", moment, replace=["train"]))  # noqa: B023
    made = list(map(jobs, engines))
    again = both(engines, lambda each: each.up(replace=["train"]))
    assert names(again, "check", "diff", "create", "delete") == [
        "CustomJobProvider.check",
        "CustomJobProvider.create",
    ], "the engine neither compares nor deletes the job that the first command deleted"
    assert list(map(jobs, engines)) == made

    def model(each: Any) -> bool:
        each.declare("A", "first", ["model"])
        return bool(each.up())

    both(engines, model)
    updated = both(engines, killed("A", "second", ["model"], "UpdateModel", Moment.CARRIED_OUT))
    assert _name(updated[-1]) == "ModelProvider.update"
    assert names(both(engines, up), "update") == ["ModelProvider.update"]
    both(engines, lambda each: each.destroy())
