"""Our providers in the engine's real provider process: floats, unknown values, clean errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.output import Unknown
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.core.running.declaration import RECORD
from pulumi_vertex_training.providers import CustomJobProvider, StagedFileProvider, StagingBucketProvider
from support.client.plugin import UNKNOWN, PluginProcess, serialized

JOB = CustomJobProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
MARKS = {"project": "p", "stack": "s", "resource": "train"}


def pool(count: float, **more: Any) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": count,
        "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"},
        **more,
    }


def job(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "display_name": "train",
        "worker_pool_specs": list(pools),
        "staging_bucket": "a-bucket",
        "marks": MARKS,
        **PLACE,
        **more,
    }


def recorded(inputs: dict[str, Any], *, state: str = "JOB_STATE_SUCCEEDED", **more: Any) -> dict[str, Any]:
    """Return the outputs of a job that was created with these inputs."""
    hidden = inputs["__run"]
    return {**inputs, "state": state, "__run": {**hidden, "key": f"{hidden['identity']}-1"}, **more}


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[PluginProcess]:
    with PluginProcess(tmp_path) as process:
        yield process


@pytest.mark.parametrize("is_cold", [False, True])
def test_an_existing_job_is_not_refused_by_a_newer_rule(tmp_path: Path, is_cold: bool) -> None:
    plugin = PluginProcess(tmp_path, is_cold=is_cold)
    google = {"endpoint": "google"}
    kept = job(pool(1.0, machine_spec={"machine_type": "n9-standard-4"}), **google)
    inputs, _ = plugin.check(JOB, {**kept, "allow_unknown_types": True})
    again, failures = plugin.check(JOB, kept, inputs)
    assert not failures
    assert plugin.diff(JOB, recorded(inputs), again) == (False, [])
    _, failures = plugin.check(JOB, {**kept, "network": "projects/1/global/networks/n"}, inputs)
    assert list(failures) == ["worker_pool_specs[0].machine_spec.machine_type"]
    _, failures = plugin.check(JOB, {**kept, "location": "europe-west4"}, inputs)
    assert list(failures) == ["worker_pool_specs[0].machine_spec.machine_type"]
    said = plugin.stop()
    assert "train: is kept. A new job with this spec would be refused:" in said
    assert "warning: train: worker_pool_specs[0].machine_spec.machine_type: 'n9-standard-4'" in said


def test_another_default_of_a_newer_version_replaces_nothing(plugin: PluginProcess) -> None:
    """Read a state of the first version, which has a disk for machines that no table knows."""
    kept = job(pool(1.0, machine_spec={"machine_type": "n9-standard-4"}), allow_unknown_types=True)
    inputs, _ = plugin.check(JOB, kept)
    old = dict(inputs)
    disk = {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100.0}
    old["worker_pool_specs"] = [{**inputs["worker_pool_specs"][0], "disk_spec": disk}]
    again, _ = plugin.check(JOB, kept, old)
    assert plugin.diff(JOB, recorded(old), again) == (False, [])


def test_a_secret_that_is_wrong_is_not_shown_by_the_engine(plugin: PluginProcess) -> None:
    """Check that a failure names no property: the engine would print its value."""
    _, failures = plugin.check(JOB, job(pool(1.0), network="n"))
    assert list(failures) == ["network"]


def test_a_move_says_so(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(JOB, job(pool(1.0)))
    moved, _ = plugin.check(JOB, job(pool(1.0), location="europe-west4"), inputs)
    olds, news = serialized(JOB, recorded(inputs)), serialized(JOB, moved)
    assert plugin.stub.Diff(provider_pb2.DiffRequest(id="id", olds=olds, news=news)).deleteBeforeReplace
    assert plugin.diff(JOB, recorded(inputs), moved) == (True, ["location"])
    said = "train: location: us-central1 -> europe-west4; the job is replaced, because a job cannot move"
    assert said in plugin.stop()


def test_a_disk_that_follows_from_an_unknown_machine_is_unknown(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(JOB, job(pool(1.0)))
    later, _ = plugin.check(JOB, job(pool(1.0, machine_spec={"machine_type": UNKNOWN})), inputs)
    assert isinstance(later["worker_pool_specs"][0]["disk_spec"], Unknown)
    plugin.diff(JOB, recorded(inputs), later)
    said = plugin.stop()
    assert "train will run again: its spec depends on something that this deployment changes" in said
    assert "chief: machine type n1-standard-4 -> (not known yet); the job is replaced" in said


def test_floats_and_empty_pools_are_one_normal_form(plugin: PluginProcess) -> None:
    inputs, failures = plugin.check(JOB, job(pool(1.0), {}, {"replica_count": 0.0}))
    assert not failures
    assert [one["replica_count"] for one in inputs["worker_pool_specs"]] == [1]
    again, _ = plugin.check(JOB, {**job(pool(1)), "worker_pool_specs": inputs["worker_pool_specs"]}, inputs)
    assert again == inputs
    assert plugin.diff(JOB, recorded(inputs), again) == (False, [])


def test_a_half_replica_is_refused_with_its_path(plugin: PluginProcess) -> None:
    _, failures = plugin.check(JOB, job(pool(1), pool(2.5)))
    assert list(failures) == ["worker_pool_specs[1].replica_count"]
    assert "2.5" in failures["worker_pool_specs[1].replica_count"]


def test_unknown_values_are_not_judged(plugin: PluginProcess) -> None:
    """Check as in a preview: the package's bucket does not exist yet."""
    inputs, failures = plugin.check(JOB, job(pool(1), pool(UNKNOWN), staging_bucket=UNKNOWN))  # type: ignore[arg-type]
    assert not failures
    assert isinstance(inputs["__run"]["spec_hash"], Unknown)
    assert isinstance(inputs["worker_pool_specs"][1]["replica_count"], Unknown)


def test_a_resized_pool_replaces_the_job_and_says_so(tmp_path: Path) -> None:
    plugin = PluginProcess(tmp_path)
    old, _ = plugin.check(JOB, job(pool(1), pool(2)))
    new, _ = plugin.check(JOB, job(pool(1), pool(4)), old)
    changes, replaces = plugin.diff(JOB, recorded(old), new)
    assert changes
    assert replaces == ["worker_pool_specs"]
    said = plugin.stop()
    assert "train: workers: 2 -> 4 x n1-standard-4; chief unchanged; the job is replaced, because" in said
    assert "train will run again: its spec changed" in said


@pytest.mark.parametrize(
    "change", [{"marks": {**MARKS, "stack": "renamed"}}, {"staging_bucket_location": "US-CENTRAL1"}]
)
def test_what_does_not_describe_the_job_never_replaces_it(
    plugin: PluginProcess, change: dict[str, Any]
) -> None:
    old, _ = plugin.check(JOB, job(pool(1)))
    new, _ = plugin.check(JOB, job(pool(1), **change), old)
    assert plugin.diff(JOB, recorded(old), new) == (False, [])


def test_check_takes_what_it_gave(plugin: PluginProcess) -> None:
    """Check checked inputs, as the engine does with `ignore_changes`."""
    once, _ = plugin.check(JOB, job(pool(1)))
    again, _ = plugin.check(JOB, once, once)
    assert again == once


def test_another_output_directory_with_a_staging_bucket_is_a_change_in_words(tmp_path: Path) -> None:
    plugin = PluginProcess(tmp_path)
    old, _ = plugin.check(JOB, job(pool(1), base_output_directory="gs://models/first"))
    new, _ = plugin.check(JOB, job(pool(1), base_output_directory="gs://models/second"), old)
    assert plugin.diff(JOB, recorded(old), new) == (True, ["base_output_directory"])
    assert "gs://models/first/ -> gs://models/second/" in plugin.stop()


def test_a_renamed_job_keeps_its_name_until_it_runs_again(plugin: PluginProcess) -> None:
    """Declare no display name: it follows the resource's name."""

    def declared(name: str, *pools: dict[str, Any], **more: Any) -> dict[str, Any]:
        inputs = job(*pools, marks={**MARKS, "resource": name})
        del inputs["display_name"]
        return {**inputs, **more}

    old, _ = plugin.check(JOB, declared("train", pool(1)))
    spelled_out, _ = plugin.check(JOB, declared("train", pool(1), display_name="train"), old)
    assert old == spelled_out
    renamed, _ = plugin.check(JOB, declared("fit", pool(1)), old)
    assert plugin.diff(JOB, recorded(old), renamed) == (False, [])
    later, _ = plugin.check(JOB, declared("fit", pool(1)), renamed)
    assert plugin.diff(JOB, recorded(old), later) == (False, [])
    next_run, _ = plugin.check(JOB, declared("fit", pool(1), pool(2)), later)
    assert (next_run["display_name"], next_run["marks"]["resource"]) == ("fit", "fit")
    assert next_run["__run"]["identity"] == old["__run"]["identity"]


@pytest.mark.parametrize(
    "mistake",
    [
        {"worker_pool_specs": [pool(3)]},
        {"colour": "red"},
        {"staging_bucket": "b-bucket", "staging_bucket_location": "europe-west4"},
    ],
    ids=["a chief of three", "no such field", "a bucket elsewhere"],
)
def test_a_mistake_that_is_fixed_is_no_new_run(plugin: PluginProcess, mistake: dict[str, Any]) -> None:
    old, _ = plugin.check(JOB, job(pool(1)))
    _, failures = plugin.check(JOB, {**job(pool(1)), **mistake}, old)
    assert failures
    fixed, _ = plugin.check(JOB, job(pool(1)), old)
    assert plugin.diff(JOB, recorded(old), fixed) == (False, [])


def test_a_bucket_on_google_needs_a_project(plugin: PluginProcess) -> None:
    place = {"endpoint": "google", "project": "", "location": "us-central1"}
    _, failures = plugin.check(StagingBucketProvider(), {**place, "name": "a-bucket"})
    assert list(failures) == ["project"]
    assert "pulumi config set vertex-training:project" in failures["project"]


def test_a_job_runs_again_only_for_a_reason(plugin: PluginProcess) -> None:
    old, _ = plugin.check(JOB, job(pool(1.0), pool(2.0)))
    for change, replaces in (
        ({"labels": {}}, []),
        ({"labels": {"team": "a"}}, []),
        ({"display_name": "fit {run}"}, []),
        ({"worker_pool_specs": [pool(1.0), pool(3.0)]}, ["worker_pool_specs"]),
        ({"run_token": "again"}, ["run_token"]),
        ({"run_token": ""}, []),
    ):
        new, _ = plugin.check(JOB, {**job(pool(1.0), pool(2.0)), **change}, old)
        assert plugin.diff(JOB, recorded(old), new) == (bool(replaces), replaces), change
        waiting = {"labels", "display_name"} & set(change)
        assert all(new.get(name) == old.get(name) for name in waiting), change
    said = plugin.stop()
    assert "train will run again: its run_token changed" in said
    assert said.count("train will run again: its spec changed") == 1


def test_a_job_that_runs_once_keeps_the_inputs_of_its_run(plugin: PluginProcess) -> None:
    old, _ = plugin.check(JOB, job(pool(1), rerun="never"))
    for change in ({"worker_pool_specs": [pool(1), pool(2)]}, {"location": "europe-west4"}):
        new, _ = plugin.check(JOB, {**job(pool(1), rerun="never"), **change}, old)
        assert new == old
        assert plugin.diff(JOB, recorded(old), new) == (False, [])
    said = plugin.stop()
    assert "train stays: its spec changed, but rerun is never" in said
    assert "train stays: its location changed, but rerun is never" in said


def test_a_refresh_never_plans_a_run(plugin: PluginProcess) -> None:
    """Call diff as a refresh does: without check."""
    with PluginProcess(Path.cwd()) as another:
        inputs, _ = another.check(JOB, job(pool(1), rerun="always"))
    assert plugin.diff(JOB, recorded(inputs), inputs) == (False, [])
    assert "will run" not in plugin.stop()


def test_a_plan_asks_only_an_emulator_that_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "emulator"
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as plugin:
        old, _ = plugin.check(JOB, job(pool(1), rerun="always"))
        same, _ = plugin.check(JOB, job(pool(1), rerun="always"), old)
        assert plugin.diff(JOB, recorded(old, state="JOB_STATE_RUNNING"), same) == (False, [])
    assert not data_dir.exists()


def test_the_record_of_a_job_changes_in_place(plugin: PluginProcess) -> None:
    old, _ = plugin.check(JOB, job(pool(1)))
    for change in (
        {"rerun": "never"},
        {"rerun_limit": 3},
        {"protect_running": True},
        {"on_delete": "cancel"},
        {"on_replace": "delete"},
        {"keep_runs": 3},
    ):
        new, _ = plugin.check(JOB, job(pool(1), **change), old)
        assert plugin.diff(JOB, recorded(old), new) == (True, []), change
    before = {name: value for name, value in old.items() if name not in RECORD}
    again, _ = plugin.check(JOB, job(pool(1)), before)
    assert plugin.diff(JOB, recorded(before), again) == (False, [])
    assert "will run" not in plugin.stop()


def test_the_path_on_a_disk_takes_no_part(plugin: PluginProcess, tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.csv").write_text("1,2,3\n")
    place = {**PLACE, "bucket": "a-bucket", "prefix": "files"}
    provider = StagedFileProvider()
    old, _ = plugin.check(provider, {**place, "source": "here/data.csv"})
    new, _ = plugin.check(provider, {**place, "source": "there/data.csv"})
    assert plugin.diff(provider, old, new) == (False, [])
    (tmp_path / "there" / "data.csv").write_text("4,5,6\n")
    changed, _ = plugin.check(provider, {**place, "source": "there/data.csv"})
    assert plugin.diff(provider, old, changed) == (True, ["object_name", "sha256"])


def test_bucket_settings_change_in_place_and_its_place_does_not(plugin: PluginProcess) -> None:
    provider = StagingBucketProvider()
    base = {**PLACE, "name": "a-bucket"}
    old, _ = plugin.check(provider, base)
    for change, replaces in (
        ({"versioning": {"enabled": True}}, []),
        ({"labels": {"a": "b"}}, []),
        ({"force_destroy": True}, []),
        ({"name": "other-bucket"}, ["name"]),
        ({"location": "europe-west4"}, ["location"]),
    ):
        new, _ = plugin.check(provider, {**base, **change})
        assert plugin.diff(provider, old, new) == (True, replaces), change
    same, _ = plugin.check(provider, {**base, "location": "US-CENTRAL1", "storage_class": "standard"})
    assert plugin.diff(provider, old, same) == (False, [])


def test_an_error_is_one_clean_line(tmp_path: Path) -> None:
    """Fail without a call stack, a chain of causes or a module path."""
    (tmp_path / "blocked").write_text("a file where the emulator's folder has to be")
    config = {"vertex-training:dataDir": str(tmp_path / "blocked" / "emulator")}
    provider = StagingBucketProvider()
    with PluginProcess(tmp_path, config=config) as plugin:
        inputs, _ = plugin.check(provider, {**PLACE, "name": "a-bucket"})
        with pytest.raises(grpc.RpcError) as caught:
            plugin.create(provider, inputs)
    details = caught.value.details()  # type: ignore[attr-defined]
    assert details.startswith("Failure: ")
    assert str(tmp_path / "blocked") in details
    assert "Traceback" not in details
    assert "The above exception" not in details


def test_a_configuration_that_cannot_be_used_is_one_clean_line(tmp_path: Path) -> None:
    with (
        PluginProcess(tmp_path, config={"vertex-training:dataDir": "relative"}) as plugin,
        pytest.raises(grpc.RpcError) as caught,
    ):
        plugin.check(StagingBucketProvider(), {**PLACE, "name": "a-bucket"})
    assert "Failure: vertex-training:dataDir is 'relative'" in caught.value.details()  # type: ignore[attr-defined]
