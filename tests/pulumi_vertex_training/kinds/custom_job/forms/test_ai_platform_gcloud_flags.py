from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.gcloud_flag_table import FLAGS
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.gcloud_flags import submission_of
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import words_of
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import errors

COMMAND = "gcloud ai-platform jobs submit training"
DISTRIBUTED = f"""{COMMAND} digits \\
    --region us-central1 \\
    --scale-tier custom \\
    --master-machine-type n1-standard-4 \\
    --master-image-uri gcr.io/p/master:1 \\
    --worker-machine-type n1-standard-8 \\
    --worker-image-uri gcr.io/p/worker:1 \\
    --worker-count 9 \\
    --parameter-server-machine-type large_model \\
    --parameter-server-count 3 \\
    --labels team=a,kind=b \\
    -- \\
    --model-dir=gs://bucket/model \\
    --epochs=10
"""


def read(text, **fields):
    return read_document({"gcloud": text, **fields})


def fields(*words):
    submission = submission_of(words)
    assert submission.problems == ()
    return submission.training_input


def found(*words):
    return [str(problem) for problem in submission_of(words).problems]


# Flags.


@every_row(
    ("words", "expected"),
    [
        pytest.param(["--worker-count", "4"], {"worker_count": "4"}, id="a value after the flag"),
        pytest.param(["--worker-count=4"], {"worker_count": "4"}, id="a value in the flag"),
        pytest.param(["--worker-count="], {"worker_count": ""}, id="an empty value"),
        pytest.param(
            ["--worker-count", "4", "--worker-count", "5"], {"worker_count": "5"}, id="the last one wins"
        ),
        pytest.param(["--worker-count", "-1"], {"worker_count": "-1"}, id="a negative number"),
        pytest.param(["--scale-tier", "standard-1"], {"scale_tier": "STANDARD_1"}, id="tier"),
        pytest.param(["--scale-tier", "CUSTOM"], {"scale_tier": "CUSTOM"}, id="tier as the API writes it"),
        pytest.param(["--master-machine-type", "standard"], {"master_type": "standard"}, id="master type"),
        pytest.param(["--worker-machine-type", "standard"], {"worker_type": "standard"}, id="worker type"),
        pytest.param(
            ["--parameter-server-machine-type", "x"], {"parameter_server_type": "x"}, id="server type"
        ),
        pytest.param(["--evaluator-machine-type", "x"], {"evaluator_type": "x"}, id="evaluator type"),
        pytest.param(["--parameter-server-count", "3"], {"parameter_server_count": "3"}, id="server count"),
        pytest.param(["--evaluator-count", "1"], {"evaluator_count": "1"}, id="evaluator count"),
        pytest.param(
            ["--master-image-uri", "a/b"], {"master_config": {"image_uri": "a/b"}}, id="master image"
        ),
        pytest.param(
            ["--worker-image-uri", "a/b"], {"worker_config": {"image_uri": "a/b"}}, id="worker image"
        ),
        pytest.param(
            ["--parameter-server-image-uri", "a/b"],
            {"parameter_server_config": {"image_uri": "a/b"}},
            id="server image",
        ),
        pytest.param(
            ["--evaluator-image-uri", "a/b"], {"evaluator_config": {"image_uri": "a/b"}}, id="evaluator image"
        ),
        pytest.param(
            ["--master-accelerator", "count=2,type=nvidia-tesla-t4"],
            {"master_config": {"accelerator_config": {"count": "2", "type": "NVIDIA_TESLA_T4"}}},
            id="accelerators",
        ),
        pytest.param(
            ["--worker-accelerator=type=tpu-v2,count=8", "--worker-image-uri=a/b"],
            {"worker_config": {"accelerator_config": {"type": "TPU_V2", "count": "8"}, "image_uri": "a/b"}},
            id="accelerators and image",
        ),
        pytest.param(["--job-dir", "gs://b/d"], {"job_dir": "gs://b/d"}, id="job directory"),
        pytest.param(["--module-name", "trainer.task"], {"python_module": "trainer.task"}, id="module"),
        pytest.param(
            ["--packages", "gs://b/x,gs://b/y"], {"package_uris": ["gs://b/x", "gs://b/y"]}, id="packages"
        ),
        pytest.param(["--runtime-version", "2.1"], {"runtime_version": "2.1"}, id="runtime version"),
        pytest.param(["--python-version", "3.7"], {"python_version": "3.7"}, id="Python version"),
        pytest.param(["--region", "us-east1"], {"region": "us-east1"}, id="region"),
        pytest.param(["--network", "n"], {"network": "n"}, id="network"),
        pytest.param(["--service-account", "a@b"], {"service_account": "a@b"}, id="service account"),
        pytest.param(["--enable-web-access"], {"enable_web_access": True}, id="a switch"),
        pytest.param(["--no-enable-web-access"], {"enable_web_access": False}, id="a switch off"),
        pytest.param(["--use-chief-in-tf-config", "true"], {"use_chief_in_tf_config": "true"}, id="chief"),
        pytest.param(
            ["--tpu-tf-version", "2.1"], {"worker_config": {"tpu_tf_version": "2.1"}}, id="TPU version"
        ),
        pytest.param(
            ["--kms-key", "projects/p/locations/l/keyRings/r/cryptoKeys/k"],
            {"encryption_config": {"kms_key_name": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}},
            id="a key",
        ),
        pytest.param(
            ["--kms-key=k", "--kms-keyring=r", "--kms-location=l", "--kms-project=p"],
            {"encryption_config": {"kms_key_name": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}},
            id="a key in parts",
        ),
        pytest.param(
            ["--", "--worker-count", "4"], {"args": ["--worker-count", "4"]}, id="the program's arguments"
        ),
        pytest.param(["--"], {}, id="no arguments of the program"),
        pytest.param(
            ["--project=p", "--quiet", "-q", "--async", "--stream-logs"], {}, id="not about the job"
        ),
        pytest.param(["--no-user-output-enabled"], {}, id="a switch of gcloud off"),
    ],
)
def test_a_flag_is_a_field(words, expected):
    assert fields("job", *words) == expected


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["digits"], id="none"),
        pytest.param(["jobs", "submit", "training", "digits"], id="without the group"),
        pytest.param(["ai-platform", "jobs", "submit", "training", "digits"], id="without gcloud"),
        pytest.param(["gcloud", "ai-platform", "jobs", "submit", "training", "digits"], id="all"),
        pytest.param(["gcloud", "beta", "ai-platform", "jobs", "submit", "training", "digits"], id="beta"),
        pytest.param(
            ["gcloud", "alpha", "ml-engine", "jobs", "submit", "training", "digits"], id="ml-engine"
        ),
        pytest.param(
            ["gcloud", "--project", "p", "ai-platform", "jobs", "submit", "training", "digits"],
            id="with a flag between",
        ),
    ],
)
def test_the_leading_words_may_be_there_or_not(words):
    submission = submission_of([*words, "--region", "us-east1"])
    assert submission.problems == ()
    assert submission.job_id == "digits"
    assert submission.training_input == {"region": "us-east1"}


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        pytest.param(
            ["--worker-cuont", "4"],
            "gcloud: --worker-cuont is not a flag of this command; did you mean --worker-count",
            id="a misspelt flag",
        ),
        pytest.param(
            ["--zzz=1"],
            "gcloud: --zzz is not a flag of this command; the program's own arguments go after --",
            id="a flag like no other",
        ),
        pytest.param(["--worker-count"], "gcloud.--worker-count: needs a value", id="no value at the end"),
        pytest.param(
            ["--worker-count", "--region=x"],
            "gcloud.--worker-count: needs a value",
            id="no value before a flag",
        ),
        pytest.param(
            ["--enable-web-access=yes"],
            "gcloud.--enable-web-access: takes no value, got 'yes'; write --enable-web-access alone",
            id="a switch with a value",
        ),
        pytest.param(
            ["--worker-accelerator", "count=2"],
            "gcloud.--worker-accelerator: type is missing in 'count=2'; write count=COUNT,type=TYPE",
            id="accelerators without a type",
        ),
        pytest.param(
            ["--worker-accelerator", "type=nvidia-tesla-t4"],
            "gcloud.--worker-accelerator: count is missing in 'type=nvidia-tesla-t4'; write "
            "count=COUNT,type=TYPE",
            id="accelerators without a count",
        ),
        pytest.param(
            ["--worker-accelerator", "count=1,type=x,size=2"],
            "gcloud.--worker-accelerator: 'size' is not a part of it; write count=COUNT,type=TYPE",
            id="accelerators with more",
        ),
        pytest.param(
            ["--labels", "a"],
            "gcloud.--labels: 'a' has no =; write NAME=VALUE, with commas between them",
            id="a label without a value",
        ),
        pytest.param(
            ["--kms-key", "k", "--kms-keyring", "r"],
            "gcloud.--kms-key: 'k' is not a full name, and --kms-location or --kms-project is not given; "
            "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
            id="a key without its parts",
        ),
        pytest.param(
            ["more"],
            "gcloud: 'more' is not expected after the name of the job, 'job'; the program's own arguments go "
            "after --",
            id="a word too many",
        ),
        pytest.param(
            ["--packages", "dist/trainer.tar.gz"],
            "gcloud.--packages: 'dist/trainer.tar.gz' is on this machine, so its address is not known yet; a "
            "StagedPackage uploads it, or give the gs:// address of what gcloud uploaded",
            id="a package on this machine",
        ),
        pytest.param(
            ["--package-path", "trainer"],
            "gcloud.--package-path: 'trainer' is on this machine, so its address is not known yet; a "
            "StagedPackage uploads it, or give the gs:// address of what gcloud uploaded",
            id="a folder on this machine",
        ),
    ],
)
def test_what_is_wrong_with_a_flag_is_reported(words, finding):
    (message,) = found("job", *words)
    assert message.startswith(finding)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["gcloud", "ai-platform", "local", "train"], id="a local run"),
        pytest.param(["gcloud"], id="nothing"),
    ],
)
def test_another_command_is_refused(words):
    assert found(*words) == [
        "gcloud: this is another command; write gcloud ai-platform jobs submit training JOB --flags"
    ]


def test_local_packages_have_no_address_yet():
    submission = submission_of(["job", "--packages", "a.tar.gz,gs://b/c", "--package-path", "trainer"])
    assert submission.training_input["package_uris"] == [UNKNOWN, UNKNOWN, "gs://b/c"]


# Words.


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param("a 'b c' \"d\"", ["a", "b c", "d"], id="a text"),
        pytest.param("a \\\n  b", ["a", "b"], id="over several lines"),
        pytest.param("a \\\r\n  b", ["a", "b"], id="lines of Windows"),
        pytest.param(["a", "b c"], ["a", "b c"], id="a list"),
        pytest.param(["--worker-count", 4], ["--worker-count", "4"], id="a number in a list"),
        pytest.param([], [], id="an empty list"),
    ],
)
def test_a_command_is_words(value, words):
    assert words_of(value) == (words, ())


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        pytest.param(
            "a 'b",
            "gcloud: the command cannot be read as a shell does: no closing quotation; close it",
            id="quote",
        ),
        pytest.param(
            "a \\",
            "gcloud: the command cannot be read as a shell does: no escaped character; complete it",
            id="backslash",
        ),
        pytest.param(3, "gcloud: expected a command or the list of its words, got a number", id="a number"),
        pytest.param(
            ["a", 2.5],
            "gcloud[1]: expected a word of the command, got the number 2.5; write it in quotes",
            id="word",
        ),
    ],
)
def test_what_is_no_command_is_reported(value, finding):
    assert [str(problem) for problem in words_of(value)[1]] == [finding]


# As a document.


@pytest.mark.parametrize(
    ("position", "replicas", "machine", "image"),
    [
        (0, 1, "n1-standard-4", "gcr.io/p/master:1"),
        (1, 9, "n1-standard-8", "gcr.io/p/worker:1"),
        (2, 3, "n1-highmem-8", "gcr.io/p/master:1"),
    ],
)
def test_a_command_is_worker_pools(position, replicas, machine, image):
    document = read(DISTRIBUTED)
    assert errors(document.problems) == ()
    pool = document.spec.worker_pool_specs[position]
    assert (pool.replica_count, pool.machine_type, pool.task.image_uri) == (replicas, machine, image)
    assert pool.task.args == ("--model-dir=gs://bucket/model", "--epochs=10")


@pytest.mark.parametrize(
    ("attribute", "value"), [("display_name", "digits"), ("labels", {"team": "a", "kind": "b"})]
)
def test_a_command_has_fields_of_the_job(attribute, value):
    assert getattr(read(DISTRIBUTED).spec, attribute) == value


def test_a_command_may_be_a_list():
    words, _ = words_of(DISTRIBUTED)
    assert read(words).spec == read(DISTRIBUTED).spec


@pytest.mark.parametrize(
    ("flags", "path"),
    [
        pytest.param(
            "--worker-count=-1 --worker-machine-type=standard", "gcloud.--worker-count", id="a count"
        ),
        pytest.param(
            "--worker-count=x --worker-machine-type=standard", "gcloud.--worker-count", id="no number"
        ),
        pytest.param("--worker-count=2", "gcloud.--worker-machine-type", id="a flag that is not there"),
        pytest.param("--job-dir=x", "gcloud.--job-dir", id="a directory"),
        pytest.param("--region=us-central9", "gcloud.--region", id="a region"),
        pytest.param(
            "--master-accelerator=count=3,type=nvidia-tesla-t4",
            "gcloud.--master-accelerator",
            id="accelerators",
        ),
        pytest.param(
            "--runtime-version=2.1", "gcloud.--runtime-version", id="an image and a runtime version"
        ),
    ],
)
def test_a_finding_names_the_flag(flags, path):
    text = (
        f"{COMMAND} j --scale-tier custom --master-machine-type n1-standard-4 --master-image-uri a/b {flags}"
    )
    assert [problem.path for problem in errors(read(text).problems)] == [path]


CONFIG = f"{COMMAND} digits --config config.yaml --worker-count 5 --worker-image-uri=a/w"


def test_the_file_of_config_is_asked_for():
    assert next(str(problem) for problem in errors(read(CONFIG).problems)) == (
        "gcloud.--config: no other file is read; put its trainingInput into this document, next to gcloud"
    )


def test_flags_win_over_the_file_of_config():
    config = {
        "scaleTier": "CUSTOM",
        "masterType": "standard",
        "masterConfig": {"imageUri": "a/m"},
        "workerType": "standard",
        "workerCount": 2,
        "workerConfig": {"imageUri": "a/b", "diskConfig": {"bootDiskSizeGb": 200}},
    }
    document = read(CONFIG, trainingInput=config, jobId="other", labels={"a": "b"})
    assert errors(document.problems) == ()
    workers = document.spec.worker_pool_specs[1]
    assert (workers.replica_count, workers.task.image_uri, workers.disk_spec.boot_disk_size_gb) == (
        5,
        "a/w",
        200,
    )
    assert (document.spec.display_name, document.spec.labels) == ("digits", {"a": "b"})


@given(
    st.lists(st.one_of(st.sampled_from([*FLAGS, "--", "--x", "=", "-", "", "a=b,c"]), st.text(max_size=6)))
)
def test_reading_words_never_raises(words):
    submission_of(words)


@given(st.text())
def test_reading_a_text_never_raises(text):
    document = read(text)
    assert document.form == "training_input"


@every_row("flag", [flag for flag, entry in FLAGS.items() if entry.kind == "text"])
def test_every_flag_sets_a_field_that_there_is(flag):
    document = read([*COMMAND.split(), "job", flag, "1"])
    assert not [problem for problem in document.problems if "is not a known field" in problem.message]


def test_a_finding_about_a_config_file_names_the_field():
    config = {"scaleTier": "CUSTOM", "masterType": "standard", "masterConfig": {"imageUri": "a/m"}}
    document = read(f"{COMMAND} digits --worker-count 5", trainingInput=config)
    assert [problem.path for problem in errors(document.problems)] == ["training_input.worker_type"]


@pytest.mark.parametrize(
    "words", ["gcloud ai custom-jobs create --region=r", "ai custom-jobs create --config=c"]
)
def test_a_command_of_vertex_ai_has_a_remedy(words):
    (problem,) = submission_of(words.split()).problems
    assert "give its --config file, or write its pools as workerPoolSpecs" in problem.message
    assert problem.rule == "gcloud-command"


def test_a_command_names_its_job():
    (problem,) = submission_of(COMMAND.split()).problems
    assert problem.rule == "gcloud-command"
    assert problem.message.startswith("the name of the job is missing")


@pytest.mark.parametrize(
    ("flags", "path"),
    [
        pytest.param("--master-image-uri gcr.io/p/$X:1", "gcloud.--master-image-uri", id="a text"),
        pytest.param("--scale-tier ${X}", "gcloud.--scale-tier", id="a tier"),
        pytest.param(
            "--worker-accelerator count=$X,type=$X", "gcloud.--worker-accelerator", id="an accelerator"
        ),
        pytest.param("--labels a=$X", "gcloud.--labels", id="a label"),
        pytest.param("--packages gs://b/$X", "gcloud.--packages", id="a package"),
        pytest.param(
            "--kms-key k --kms-keyring $X --kms-location l --kms-project p",
            "gcloud.--kms-keyring",
            id="a key",
        ),
        pytest.param("-- --data=$X --more=$X", "gcloud.--", id="an argument"),
    ],
)
def test_a_shell_variable_is_one_finding(flags, path):
    (problem,) = submission_of([*COMMAND.split(), "digits", *flags.split()]).problems
    name = "${X}" if "{" in flags else "$X"
    assert (problem.path, problem.rule) == (path, "gcloud-value")
    assert problem.message == f"{name} is a shell variable; write its value"


def test_a_job_named_by_a_variable():
    document = read(f"{COMMAND} $JOB --region us-central1 --master-image-uri gcr.io/p/i --project $P -- $(A)")
    assert [str(each) for each in document.problems if each.level == "error"] == [
        "gcloud: $JOB is a shell variable; write its value"
    ]
