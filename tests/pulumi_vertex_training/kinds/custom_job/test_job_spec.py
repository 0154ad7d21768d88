from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from pulumi_vertex_training.kinds.custom_job.kind import EFFECTS
from support.ground.specs.job_parts import problems_of_parts
from vertex_training.fields import wire
from vertex_training.fields.decode import decode
from vertex_training.fields.effects import Effect, field_patterns, field_table, replaces
from vertex_training.fields.values import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.difference import compare_specs
from vertex_training.job.job_kind import JobKind, as_live, drift
from vertex_training.job.job_spec import (
    JobSpec,
    Named,
    Scheduling,
    from_wire,
    hash_of,
    map_parts,
    normalise,
    parts,
    to_wire,
)
from vertex_training.job.reading import decode_spec
from vertex_training.topology.pools import ContainerSpec, MachineSpec, WorkerPoolSpec


@dataclass(frozen=True, kw_only=True)
class Study(Named):
    """A kind with its job in a message below it, as in a tuning job."""

    trial_job_spec: JobSpec
    labels: Mapping[str, str] = field(default_factory=dict)


TABLE = {
    "display_name": replaces("a study"),
    "labels": replaces("the labels of a study"),
    **field_table(JobSpec, "trial_job_spec.", noun="a study"),
}


def pool(replicas=1, machine="n1-standard-4"):
    return WorkerPoolSpec(
        machine_spec=MachineSpec(machine_type=machine),
        replica_count=replicas,
        container_spec=ContainerSpec(image_uri="gcr.io/a/b"),
    )


def study(*pools, **fields):
    return Study(display_name="s", trial_job_spec=JobSpec(worker_pool_specs=pools or (pool(),), **fields))


def normal(spec):
    return map_parts(spec, lambda _, part: normalise(part))


def paths(problems):
    return [problem.path for problem in problems]


def test_a_custom_job_has_its_display_name_first_and_its_labels_last():
    names = list(dict.fromkeys(path.split(".")[0].split("[")[0] for path in field_patterns(CustomJobSpec)))
    assert (names[0], names[1], names[-2:]) == (
        "display_name",
        "worker_pool_specs",
        ["encryption_spec", "labels"],
    )


def test_parts_of_a_message_have_their_path():
    assert [path for path, _ in parts(study())] == ["trial_job_spec"]


def test_a_job_is_its_own_part():
    job = CustomJobSpec(display_name="j", worker_pool_specs=(pool(),))
    assert list(parts(job)) == [("", job)]


def test_an_unchanged_spec_is_not_copied():
    spec = study()
    assert map_parts(spec, lambda _, part: part) is spec


def test_the_output_directory_is_a_message_in_json_at_every_path():
    json = wire.to_json(study(base_output_directory="gs://b/p/"))
    assert json["trialJobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://b/p/"}


def test_json_of_a_job_spec_comes_back():
    spec = study(base_output_directory="gs://b/p/", scheduling=Scheduling(timeout="60s")).trial_job_spec
    assert from_wire(to_wire(spec)) == spec


@pytest.mark.parametrize(
    "spec, path",
    [
        pytest.param(study(service_account="me"), "trial_job_spec.service_account", id="a field"),
        pytest.param(
            study(pool(machine="n1-standard-5")),
            "trial_job_spec.worker_pool_specs[0].machine_spec.machine_type",
            id="a pool",
        ),
        pytest.param(
            study(scheduling=Scheduling(strategy="SPOTTY")), "trial_job_spec.scheduling.strategy", id="nested"
        ),
        pytest.param(
            study(reserved_ip_ranges=("a",)), "trial_job_spec.reserved_ip_ranges", id="with what it rests on"
        ),
    ],
)
def test_findings_have_the_path_of_the_part(spec, path):
    assert path in paths(problems_of_parts(spec))


def test_what_a_finding_rests_on_has_the_path_of_the_part():
    (found,) = problems_of_parts(study(reserved_ip_ranges=("a",)))
    assert found.rests_on == ("trial_job_spec.reserved_ip_ranges", "trial_job_spec.network")


def test_what_a_finding_rests_on_outside_of_the_part_stays():
    options = CheckOptions(location="europe-west4")
    (found,) = problems_of_parts(study(protected_artifact_location_id="europe-west4"), options=options)
    assert found.rests_on == ("trial_job_spec.protected_artifact_location_id", "location")


def read(value):
    return decode_spec(
        Study, value, normalise=normal, check=lambda s: list(problems_of_parts(s)), at=("trial_job_spec",)
    )


GPU = {"machineType": "n1-highcpu-16", "acceleratorType": "NVIDIA_TESLA_V100", "acceleratorCount": 2}
TASK = {"imageUri": "gcr.io/a/b"}


def test_reduction_servers_are_counted_below_a_path():
    pools = [
        {"machineSpec": GPU, "replicaCount": 1, "containerSpec": TASK},
        {"machineSpec": GPU, "replicaCount": 2, "containerSpec": TASK},
        {"replicaCount": "auto"},
    ]
    spec = read({"displayName": "s", "trialJobSpec": {"workerPoolSpecs": pools}}).spec
    assert spec.trial_job_spec.worker_pool_specs[2].replica_count > 0


def test_findings_about_the_count_have_the_path_of_the_part():
    pools = [{"machineSpec": GPU, "replicaCount": "auto", "containerSpec": TASK}]
    found = read({"display_name": "s", "trial_job_spec": {"worker_pool_specs": pools}})
    assert paths(found.problems)[0] == "trial_job_spec.worker_pool_specs[0].replica_count"


def test_an_unknown_part_has_no_findings():
    assert read({"display_name": "s", "trial_job_spec": UNKNOWN}).problems == ()


def test_the_table_of_a_part_has_every_field_below_its_path():
    whole = {path for path in EFFECTS if EFFECTS[path].effect is not Effect.SERVER}
    own = {"display_name", "labels", "encryption_spec.kms_key_name"}
    assert set(field_table(JobSpec, "p.", noun="a job")) == {f"p.{path}" for path in whole - own}


def difference(old, new, **options):
    return compare_specs(normal(old), normal(new), table=TABLE, noun="the study", **options)


@pytest.mark.parametrize(
    "new, words",
    [
        pytest.param(study(), "", id="nothing"),
        pytest.param(
            study(pool(), pool(2)),
            "workers: added, 2 x n1-standard-4; chief unchanged; the study is replaced, because worker pools "
            "cannot change once a study exists",
            id="a pool",
        ),
        pytest.param(
            study(service_account="a@b.iam.gserviceaccount.com"),
            "service account: none -> a@b.iam.gserviceaccount.com; the study is replaced, because a study "
            "cannot change once it exists",
            id="a field of the part",
        ),
        pytest.param(
            replace(study(), display_name="t"),
            "display name: s -> t; the study is replaced, because a study cannot change once it exists",
            id="a field beside the part",
        ),
        pytest.param(study(scheduling=Scheduling(timeout="604800s")), "", id="the service's own timeout"),
    ],
)
def test_the_difference_in_words(new, words):
    assert difference(study(), new).words == words


@pytest.mark.parametrize(
    "gap", ["trial_job_spec", "trial_job_spec.worker_pool_specs", "trial_job_spec.service_account", "labels"]
)
def test_an_unknown_value_counts_as_different(gap):
    assert difference(study(), study(), unknown=[gap]).paths[0].startswith(gap)


def test_defaults_of_the_service_are_no_difference():
    found = study(base_output_directory="gs://b/run/", service_account="1@x.iam.gserviceaccount.com")
    assert drift(normal(study()), normal(found)) == ()


def test_live_values_replace_the_declared_ones():
    declared, found = study(network="projects/1/global/networks/a"), study()
    assert as_live(normal(declared), normal(found)) == normal(found)


def test_a_default_disk_does_not_change_the_hash():
    spelled = replace(pool(), disk_spec=normal(study()).trial_job_spec.worker_pool_specs[0].disk_spec)
    assert hash_of(normal(study(spelled)), wire.to_json) == hash_of(normal(study()), wire.to_json)


def test_the_part_changes_the_hash():
    assert hash_of(normal(study(pool(2))), wire.to_json) != hash_of(normal(study()), wire.to_json)


STUDY = JobKind(
    noun="study",
    it="the study",
    spec=Study,
    effects=TABLE,
    normalise=normal,
    validate=lambda spec, **options: list(problems_of_parts(spec, **options)),
    to_wire=wire.to_json,
    from_wire=lambda document: wire.from_json(Study, document),
    at=("trial_job_spec",),
)


def test_the_path_of_the_output_directory():
    assert STUDY.directory_path(study()) == "trial_job_spec.base_output_directory"


def test_the_output_directory_is_that_of_the_part():
    assert STUDY.output_directory(study(base_output_directory="gs://b/p/")) == "gs://b/p/"


def test_the_output_directory_of_json_is_in_normal_form():
    assert STUDY.directory_of(wire.to_json(study(base_output_directory="gs://b/p"))) == "gs://b/p/"


def test_another_output_directory():
    changed = STUDY.with_output_directory(study(), "gs://b/q/")
    assert changed == study(base_output_directory="gs://b/q/")


@pytest.mark.parametrize(
    "lives, paths_",
    [
        pytest.param(study(), [], id="the same"),
        pytest.param(study(base_output_directory="gs://b/q/"), [], id="a directory that is not declared"),
        pytest.param(replace(study(), labels={"pulumi-stack": "s"}), [], id="labels of ours"),
        pytest.param(
            study(pool(2)), ["trial_job_spec.worker_pool_specs[0].replica_count"], id="another pool"
        ),
        pytest.param(replace(study(), labels={"team": "a"}), ["labels.team"], id="a label"),
    ],
)
def test_differences_that_prevent_adoption(lives, paths_):
    changes = STUDY.difference_to_adopt(study(), wire.to_json(lives))
    assert [change.path for change in changes] == paths_


def test_the_difference_of_a_kind_is_in_its_own_words():
    assert "the study is replaced" in STUDY.compare(study(), study(pool(2))).words


def test_the_remedy_of_a_missing_count_is_1_for_the_chief_alone():
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}}
    decoded = decode(Study, {"display_name": "s", "trial_job_spec": {"worker_pool_specs": [pool] * 11}})
    chief, *others = [(problem.path, problem.message) for problem in decoded.problems]
    below = "trial_job_spec.worker_pool_specs"
    words = "is missing; give 1, as the first worker pool is the chief of the job"
    assert chief == (f"{below}[0].replica_count", words)
    assert others == [
        (f"{below}[{position}].replica_count", "is missing; give a number, 0 leaves it out")
        for position in range(1, 11)
    ]
