from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from support.ground import jobs
from support.ground.jobs import EMPTY, job, pool
from vertex_training.fields.effects import Effect
from vertex_training.job.difference import as_document, means_the_same
from vertex_training.job.job_spec import OF_NEXT_RUN, Scheduling
from vertex_training.topology.changes import FieldChange

REPLACED = "the job is replaced, because"
POOLS = f"{REPLACED} worker pools cannot change once a job exists"
JOB = f"{REPLACED} a job cannot change once it exists"


@given(jobs.jobs)
def test_a_job_does_not_differ_from_itself(spec):
    difference = CUSTOM_JOB.compare(spec, spec)
    assert (difference.effect, difference.words, difference.paths) == (Effect.NONE, "", ())


@given(jobs.jobs, jobs.jobs)
def test_every_difference_has_an_effect_and_words(old, new):
    difference = CUSTOM_JOB.compare(old, new)
    assert bool(difference.paths) == bool(difference.words)
    reruns = any(path.partition(".")[0] not in OF_NEXT_RUN for path in difference.paths)
    assert reruns == (difference.effect is Effect.REPLACE)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            job(pool(), pool(2), EMPTY, pool()),
            job(pool(), pool(4), EMPTY, pool()),
            f"workers: 2 -> 4 x n1-standard-4; chief and evaluator unchanged; {POOLS}",
        ),
        (
            job(),
            replace(job(), display_name="letters"),
            "display name: digits -> letters; the job stays, "
            "because the display name of a job can only change with its next run",
        ),
        (
            job(),
            job(scheduling=Scheduling(timeout="60s", disable_retries=True)),
            f"timeout: none -> 60s; disable retries: false -> true; {JOB}",
        ),
        (
            job(labels={"team": "a", "x": "y"}),
            job(labels={"team": "b"}),
            "label team: a -> b; label x: y -> none; "
            "the job stays, because the labels of a job can only change with its next run",
        ),
        (
            job(pool(image="repo/a:1")),
            job(pool(image="repo/a:2"), base_output_directory="gs://b/out"),
            "chief: image repo/a:1 -> repo/a:2; base output directory: none -> gs://b/out/; " + POOLS,
        ),
    ],
)
def test_the_whole_sentence(old, new, words):
    assert CUSTOM_JOB.compare(old, new).words == words


def test_reasons_come_once_and_pools_first():
    new = job(pool(machine="n1-standard-8", image="b:1"), service_account="a@p.iam.gserviceaccount.com")
    assert CUSTOM_JOB.compare(job(), new).reasons == (
        "worker pools cannot change once a job exists",
        "a job cannot change once it exists",
    )


def test_paths_are_the_api_s():
    new = job(pool(env={"K": "1"}), pool(2), labels={"team": "a"})
    assert CUSTOM_JOB.compare(job(), new).paths == (
        "worker_pool_specs[0].container_spec.env[K]",
        "worker_pool_specs[1].machine_spec.machine_type",
        "worker_pool_specs[1].replica_count",
        "worker_pool_specs[1].container_spec.image_uri",
        "labels.team",
    )


def test_values_that_are_not_known_yet():
    unknown = {"worker_pool_specs[0].container_spec.image_uri", "base_output_directory"}
    assert CUSTOM_JOB.compare(job(), job(), unknown=unknown).words == (
        "chief: image repo/trainer:1 -> (not known yet); base output directory: none -> (not known yet); "
        + POOLS
    )


def test_the_document():
    old = job(pool(), pool(2), EMPTY, pool())
    new = job(pool(), pool(4, args=("--lr", "1")), EMPTY, pool(), scheduling=Scheduling(timeout="60s"))
    document = as_document(CUSTOM_JOB.compare(old, new))
    assert json.loads(json.dumps(document)) == document
    assert document == {
        "effect": "replace",
        "reasons": ["worker pools cannot change once a job exists", "a job cannot change once it exists"],
        "pools": [
            {
                "index": 1,
                "role": "worker",
                "change": "changed",
                "fields": [
                    {"path": "worker_pool_specs[1].replica_count", "old": 2, "new": 4},
                    {"path": "worker_pool_specs[1].container_spec.args", "old": [], "new": ["--lr", "1"]},
                ],
            }
        ],
        "unchanged": [{"index": 0, "role": "chief"}, {"index": 3, "role": "evaluator"}],
        "fields": [{"path": "scheduling.timeout", "old": None, "new": "60s"}],
        "words": "workers: 2 -> 4 x n1-standard-4, argument --lr added; chief and evaluator unchanged; "
        f"timeout: none -> 60s; {POOLS}",
    }


def test_the_document_of_equal_jobs():
    document = as_document(CUSTOM_JOB.compare(job(), job()))
    assert (document["effect"], document["reasons"], document["pools"], document["fields"]) == (
        "none",
        [],
        [],
        [],
    )


@given(jobs.jobs, jobs.jobs)
def test_the_way_back_is_the_mirror_image(old, new):
    there, back = CUSTOM_JOB.compare(old, new), CUSTOM_JOB.compare(new, old)
    assert {(c.path, c.old, c.new) for c in there.fields} == {(c.path, c.new, c.old) for c in back.fields}
    assert sorted(there.paths) == sorted(back.paths)
    mirrored = {"added": "removed", "removed": "added"}
    assert [mirrored.get(pool.change, pool.change) for pool in there.pools] == [p.change for p in back.pools]


@pytest.mark.parametrize(
    ("path", "old", "new", "same"),
    [
        pytest.param(
            "network", "projects/p/global/networks/n", "projects/12/global/networks/n", True, id="id, number"
        ),
        pytest.param(
            "network", "projects/12/global/networks/n", "projects/p/global/networks/n", True, id="number, id"
        ),
        pytest.param(
            "network", "projects/p/global/networks/n", "projects/q/global/networks/n", False, id="two ids"
        ),
        pytest.param(
            "network", "projects/1/global/networks/n", "projects/2/global/networks/n", False, id="two numbers"
        ),
        pytest.param(
            "network", "projects/p/global/networks/n", "projects/12/global/networks/m", False, id="two names"
        ),
        pytest.param("network", "projects/p/global/networks/n", None, False, id="none"),
        pytest.param("display_name", "a", "b", False, id="no resource"),
        pytest.param("scheduling.timeout", None, "604800s", True, id="the service's own timeout"),
        pytest.param("trial_job_spec.scheduling.timeout", "604800s", None, True, id="that of trials"),
        pytest.param("scheduling.timeout", None, "60s", False, id="another timeout"),
        pytest.param("labels.timeout", None, "604800s", False, id="another field"),
    ],
)
def test_two_spellings_of_one_value(path, old, new, same):
    assert means_the_same(FieldChange(path=path, old=old, new=new)) is same
