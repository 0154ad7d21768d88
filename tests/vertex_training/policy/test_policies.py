"""Each policy on declarations that keep it and that break it."""

from __future__ import annotations

from support.tables import every_row
from vertex_training.cost.prices import built_in
from vertex_training.fields.values import UNKNOWN
from vertex_training.policy.evaluation import configuration_of, violations
from vertex_training.policy.policies import matches
from vertex_training.policy.subject import kind_of, stack_of, subject_of

KEY = "projects/keys/locations/europe-west4/keyRings/training/cryptoKeys/jobs"
DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGE = "europe-docker.pkg.dev/acme/training/digits"
PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"


def pool(machine="n1-standard-4", *, count=1, image=PREBUILT, **spec):
    return {
        "machine_spec": {"machine_type": machine, **spec},
        "replica_count": count,
        "container_spec": {"image_uri": image},
    }


def t4(count=1, each=1):
    return pool(count=count, accelerator_type="NVIDIA_TESLA_T4", accelerator_count=each)


def job(*pools, **more):
    return {"display_name": "train", "location": "europe-west4", "worker_pool_specs": list(pools), **more}


def tuning(parallel, *pools, **more):
    return {
        "location": "europe-west4",
        "max_trial_count": 8,
        "parallel_trial_count": parallel,
        "trial_job_spec": {"worker_pool_specs": list(pools), **more},
    }


def found(name, settings, kind, inputs, stack="dev", *, undecided=False):
    """Return the path and message of each violation of one policy."""
    configuration = configuration_of({name: settings})
    assert configuration.problems == ()
    (configured,) = (one for one in configuration.policies if one.policy.name == name)
    subject = subject_of(kind, "train", stack, inputs)
    assert subject is not None
    return [
        f"{one.path}: {one.message}"
        for one in violations(configured, subject, built_in)
        if one.undecided is undecided
    ]


def test_a_resource_of_the_package_is_read_like_a_dynamic_one():
    image = {"imageUri": f"{IMAGE}:1"}
    camel = {
        "workerPoolSpecs": [
            {"machineSpec": {"machineType": "n1-standard-96"}, "replicaCount": 2, "containerSpec": image}
        ],
        "labels": {"my_team": "a"},
        "protectRunning": True,
        "waitTimeout": 5,
    }
    kind = kind_of("vertex-training:index:CustomJob")
    assert kind == "CustomJob"
    (message,) = found("machine-types", {"allowed": ["n1-standard-4"]}, kind, camel)
    assert message.startswith("worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-96'")
    assert found("labels", {"required": ["my_team"]}, kind, camel) == []
    path = "workerPoolSpecs[0].containerSpec.imageUri"
    subject = subject_of(kind, "train", "dev", camel, secret=[path])
    assert subject is not None
    assert subject.declared.protect_running
    assert subject.is_secret("worker_pool_specs[0].container_spec.image_uri")
    assert not subject.is_secret("worker_pool_specs[0].machine_spec")


@every_row(
    ("name", "settings", "kind", "inputs", "stack", "messages"),
    [
        ("machine-types", {}, "CustomJob", job(pool("n1-standard-96")), "dev", []),
        ("machine-types", {"allowed": ["n1-*"]}, "CustomJob", job(pool(), pool()), "dev", []),
        (
            "machine-types",
            {"allowed": ["n1-*", "g2-*"]},
            "CustomJob",
            job(pool(), pool("e2-standard-4")),
            "dev",
            [
                "worker_pool_specs[1].machine_spec.machine_type: 'e2-standard-4' is not allowed. "
                "Choose n1-* or g2-*."
            ],
        ),
        (
            "machine-types",
            {"allowed": ["n1-*"]},
            "PersistentResource",
            {
                "location": "europe-west4",
                "resource_pools": [{"machine_spec": {"machine_type": "a3-megagpu-8g"}}],
            },
            "dev",
            ["resource_pools[0].machine_spec.machine_type: 'a3-megagpu-8g' is not allowed. Choose n1-*."],
        ),
        (
            "machine-types",
            {"allowed": ["n1-*"]},
            "TrainingPipeline",
            {"location": "europe-west4", "tuning_task": tuning(1, pool("e2-standard-4"))},
            "dev",
            [
                "tuning_task.trial_job_spec.worker_pool_specs[0].machine_spec.machine_type: 'e2-standard-4' "
                "is not allowed. Choose n1-*."
            ],
        ),
        ("accelerators", {"allowed": ["NVIDIA_L4"]}, "CustomJob", job(pool()), "dev", []),
        (
            "accelerators",
            {"allowed": ["NVIDIA_L4"]},
            "CustomJob",
            job(t4()),
            "dev",
            [
                "worker_pool_specs[0].machine_spec.accelerator_type: 'NVIDIA_TESLA_T4' is not allowed. "
                "Choose NVIDIA_L4."
            ],
        ),
        ("accelerators", {"most": 8}, "CustomJob", job(t4(count=2, each=4)), "dev", []),
        (
            "accelerators",
            {"most": 8},
            "HyperparameterTuningJob",
            tuning(3, t4(each=4)),
            "dev",
            [
                "trial_job_spec.worker_pool_specs: 12 accelerators at the same time; at most 8 are allowed. "
                "Lower accelerator_count, replica_count or parallel_trial_count."
            ],
        ),
        (
            "accelerators",
            {"most": 16},
            "CustomJob",
            job(pool("ct6e-standard-4t", tpu_topology="4x8")),
            "dev",
            [
                "worker_pool_specs: 32 accelerators at the same time; at most 16 are allowed. "
                "Lower tpu_topology or replica_count."
            ],
        ),
        (
            "accelerators",
            {"most": 32},
            "CustomJob",
            job(pool("ct6e-standard-4t", tpu_topology="4x8")),
            "dev",
            [],
        ),
        ("regions", {"allowed": ["europe-*"]}, "StagingBucket", {"location": "EUROPE-WEST4"}, "dev", []),
        (
            "regions",
            {"allowed": ["europe-*"]},
            "StagingBucket",
            {"location": "us"},
            "dev",
            ["location: 'us' is not allowed. Choose europe-*."],
        ),
        ("replicas", {"most": 3}, "CustomJob", job(pool(), pool(count=2)), "dev", []),
        (
            "replicas",
            {"most": 3},
            "CustomJob",
            job(pool(), pool(count=3)),
            "dev",
            ["worker_pool_specs: 4 replicas at the same time; at most 3 are allowed. Lower replica_count."],
        ),
        ("hourly-cost", {}, "CustomJob", job(pool(count=1000)), "dev", []),
        ("hourly-cost", {"most": 1}, "CustomJob", job(pool()), "dev", []),
        ("hourly-cost", {"most": 1}, "StagingBucket", {"location": "europe-west4"}, "dev", []),
        ("hourly-cost", {"most": 0}, "CustomJob", job(pool(), persistent_resource_id="gpus"), "dev", []),
        (
            "hourly-cost",
            {"most": 1, "unknownPrices": "allow"},
            "CustomJob",
            job(pool("n9-standard-1")),
            "dev",
            [],
        ),
        (
            "spot-outside-production",
            {},
            "CustomJob",
            job(pool(), scheduling={"strategy": "LOW_COST"}),
            "dev",
            [],
        ),
        ("spot-outside-production", {}, "CustomJob", job(pool()), "prod-eu", []),
        ("spot-outside-production", {}, "CustomJob", job(pool(), persistent_resource_id="gpus"), "dev", []),
        (
            "spot-outside-production",
            {},
            "CustomJob",
            job(pool()),
            "dev",
            [
                "scheduling.strategy: 'STANDARD' is not allowed in the stack dev, which is not production. "
                "Set it to SPOT."
            ],
        ),
        ("service-account", {}, "CustomJob", job(pool(), service_account="a@b"), "dev", []),
        (
            "service-account",
            {},
            "CustomJob",
            job(pool()),
            "dev",
            [
                "service_account: is missing, so the job runs as Vertex AI's service agent. Give a service "
                "account."
            ],
        ),
        (
            "service-account",
            {"allowed": ["*@acme.iam.gserviceaccount.com"]},
            "CustomJob",
            job(pool()),
            "dev",
            [
                "service_account: is missing, so the job runs as Vertex AI's service agent. Give a service "
                "account that matches *@acme.iam.gserviceaccount.com."
            ],
        ),
        (
            "service-account",
            {"allowed": ["*@acme.iam.gserviceaccount.com"]},
            "TrainingSchedule",
            {"location": "europe-west4", "service_account": "me@example.com"},
            "dev",
            ["service_account: 'me@example.com' is not allowed. Choose *@acme.iam.gserviceaccount.com."],
        ),
        (
            "encryption-key",
            {"allowed": ["projects/keys/*"]},
            "CustomJob",
            job(pool(), encryption_spec={"kms_key_name": KEY}),
            "dev",
            [],
        ),
        ("encryption-key", {}, "ImageRepository", {"location": "eu", "kms_key_name": KEY}, "dev", []),
        ("encryption-key", {}, "TrainingSchedule", {"location": "eu"}, "dev", []),
        (
            "encryption-key",
            {},
            "StagingBucket",
            {"location": "eu"},
            "dev",
            [
                "encryption.default_kms_key_name: is missing, so Google manages the key. Give a key of Cloud "
                "KMS."
            ],
        ),
        ("labels", {"required": ["team"]}, "CustomJob", job(pool(), labels={"team": "x"}), "dev", []),
        (
            "labels",
            {"required": ["team", "cost"], "values": {"team": ["vision", "nlp"]}},
            "CustomJob",
            job(pool(), labels={"team": "x"}),
            "dev",
            [
                'labels.cost: is missing. Add labels={"cost": "..."}.',
                "labels.team: 'x' is not allowed. Choose vision or nlp.",
            ],
        ),
        (
            "labels",
            {"required": ["team"], "values": {"team": []}},
            "CustomJob",
            job(pool()),
            "dev",
            ['labels.team: is missing. Add labels={"team": "..."}.'],
        ),
        ("images", {}, "CustomJob", job(pool(image=f"{IMAGE}@{DIGEST}")), "dev", []),
        ("images", {}, "CustomJob", job(pool()), "dev", []),
        (
            "images",
            {},
            "CustomJob",
            job(pool(image=f"{IMAGE}:v1")),
            "dev",
            [
                f"worker_pool_specs[0].container_spec.image_uri: {IMAGE}:v1 is named by a tag, which can be "
                f"moved to another image. Name it by its digest, {IMAGE}@sha256:..., or pass a TrainingImage."
            ],
        ),
        (
            "images",
            {"repositories": ["localhost:5000/*"], "byDigest": False},
            "CustomJob",
            job(pool(image="localhost:5000/digits:v1")),
            "dev",
            [],
        ),
        (
            "images",
            {"repositories": ["europe-docker.pkg.dev/acme/*"]},
            "Model",
            {"location": "eu", "container_spec": {"image_uri": f"docker.io/nobody/x@{DIGEST}"}},
            "dev",
            [
                "container_spec.image_uri: docker.io/nobody/x@sha256:0123456789ab is not allowed. Choose "
                "europe-docker.pkg.dev/acme/*."
            ],
        ),
        ("timeout", {}, "CustomJob", job(pool(), scheduling={"timeout": "3600s"}), "dev", []),
        ("timeout", {"most": "6000s"}, "CustomJob", job(pool(), max_cost=0.4), "dev", []),
        (
            "timeout",
            {"most": "3600s"},
            "HyperparameterTuningJob",
            {**tuning(1, pool()), "max_cost": 50},
            "dev",
            ["max_cost: allows 83280s, which is too long. Give a timeout of at most 3600s."],
        ),
        (
            "timeout",
            {},
            "CustomJob",
            job(pool(), scheduling={"timeout": "0s"}),
            "dev",
            [
                "scheduling.timeout: is missing, so the job may run for 7 days. Give a timeout, such as "
                '"3600s".'
            ],
        ),
        (
            "timeout",
            {"most": 3600},
            "HyperparameterTuningJob",
            tuning(1, pool(), scheduling={"timeout": "7200s"}),
            "dev",
            ["trial_job_spec.scheduling.timeout: 7200s is too long. Give at most 3600s."],
        ),
        ("protect-running", {}, "CustomJob", job(pool()), "dev", []),
        ("protect-running", {}, "CustomJob", job(pool(), protect_running=True), "prod", []),
        (
            "protect-running",
            {},
            "CustomJob",
            job(pool()),
            "prod",
            [
                "protect_running: is False in the stack prod, so a change of the program can cancel a live "
                "job. Set protect_running=True."
            ],
        ),
    ],
)
def test_a_policy_reports_its_violations(name, settings, kind, inputs, stack, messages) -> None:
    assert found(name, settings, kind, inputs, stack) == messages


def test_a_policy_is_for_the_stacks_and_resources_of_its_settings() -> None:
    broken = job(pool())
    assert found("service-account", {"stacks": ["dev"]}, "CustomJob", broken, "dev")
    assert not found("service-account", {"stacks": ["prod*"]}, "CustomJob", broken, "dev")
    assert not found("service-account", {"exempt": ["tra*"]}, "CustomJob", broken, "dev")


def test_only_a_star_has_a_meaning_in_a_pattern() -> None:
    assert matches("train[0]", ["train[0]"])
    assert matches("what?", ["w*?"])
    assert not matches("train0", ["train[0]"])
    assert not matches("train0", ["train?"])


def test_a_region_may_be_written_in_capitals_as_cloud_storage_does() -> None:
    assert not found("regions", {"allowed": ["EU"]}, "StagingBucket", {"location": "eu"})
    assert found("regions", {"allowed": ["EU"]}, "StagingBucket", {"location": "us"})


def test_an_image_of_google_needs_no_digest_and_one_with_a_similar_name_does() -> None:
    server = "europe-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    assert not found("images", {}, "CustomJob", job(pool(), pool(image=server)))
    for image in ("docker.io/my-docker.pkg.dev/vertex-ai/train:1", "my.gcr.io/cloud-aiplatform/train:1"):
        assert found("images", {}, "CustomJob", job(pool(image=image)))


def test_every_remedy_can_be_followed() -> None:
    values = {"required": ["team"], "values": {"team": ["vision-*", "speech"]}}
    assert found("labels", values, "CustomJob", job(pool())) == [
        'labels.team: is missing. Add labels={"team": "speech"}.'
    ]
    patterns = values | {"values": {"team": ["vision-*"]}}
    assert found("labels", patterns, "CustomJob", job(pool())) == [
        'labels.team: is missing. Add labels={"team": "..."}.'
    ]
    long = job(pool(), scheduling={"timeout": "1234567s"})
    assert found("timeout", {"most": "3600s"}, "CustomJob", long) == [
        "scheduling.timeout: 1234567s is too long. Give at most 3600s."
    ]
    (spot,) = found("spot-outside-production", {"strategies": []}, "CustomJob", job(pool()))
    assert spot.endswith("which is not production. No value is allowed.")


def test_a_schedule_without_an_account_has_its_own_reason() -> None:
    (message,) = found("service-account", {}, "TrainingSchedule", {"location": "europe-west4"})
    assert message == (
        "service_account: is missing, so Cloud Scheduler has no account that may submit the runs. "
        "Give a service account."
    )


def test_the_remedy_for_a_pool_that_grows_is_its_maximum() -> None:
    t4s = {"machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    grows = {"machine_spec": t4s, "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 8}}
    machines = {"location": "europe-west4", "resource_pools": [grows]}
    most = "autoscaling_spec.max_replica_count"
    (replicas,) = found("replicas", {"most": 4}, "PersistentResource", machines)
    assert replicas.endswith(f"at most 4 are allowed. Lower {most}.")
    (accelerators,) = found("accelerators", {"most": 4}, "PersistentResource", machines)
    assert accelerators.endswith(f"Lower accelerator_count or {most}.")
    (cost,) = found("hourly-cost", {"most": 1}, "PersistentResource", machines)
    assert " an hour with autoscaled pools at their maximum; at most $1.00 is allowed." in cost
    fixed = {"machine_spec": t4s, "replica_count": 1}
    (both,) = found(
        "replicas", {"most": 4}, "PersistentResource", machines | {"resource_pools": [fixed, grows]}
    )
    assert both.endswith(f"Lower replica_count or {most}.")


@every_row(
    ("settings", "kind", "inputs", "beginning"),
    [
        ({"most": 0.5}, "CustomJob", job(pool(count=8)), "worker_pool_specs: $"),
        ({"most": 0.5}, "HyperparameterTuningJob", tuning(8, pool()), "trial_job_spec.worker_pool_specs: $"),
        (
            {"most": 0.5},
            "PersistentResource",
            {
                "location": "europe-west4",
                "resource_pools": [
                    {
                        "machine_spec": {"machine_type": "n1-standard-4"},
                        "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 8},
                    }
                ],
            },
            "resource_pools: $",
        ),
        (
            {"most": 0.5},
            "CustomJob",
            job(pool("ct6e-standard-4t", tpu_topology="4x8")),
            "worker_pool_specs: at least $95.2",
        ),
        (
            {"most": 9},
            "CustomJob",
            job(pool("n9-standard-1")),
            "worker_pool_specs: the price of n9-standard-1 is not known",
        ),
    ],
)
def test_a_resource_above_the_limit_of_the_cost_is_reported(settings, kind, inputs, beginning) -> None:
    (message,) = found("hourly-cost", settings, kind, inputs)
    assert message.startswith(beginning)
    assert "at most $0.50 is allowed" in message or "limit of $9.00" in message
    assert ("autoscaled pools at their maximum" in message) == (kind == "PersistentResource")


def test_the_known_machines_of_an_autoscaled_pool_count_with_their_maximum() -> None:
    pool_of_a100 = {
        "machine_spec": {
            "machine_type": "a2-highgpu-1g",
            "accelerator_type": "NVIDIA_TESLA_A100",
            "accelerator_count": 1,
        },
        "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 8},
    }
    machines = {"location": "europe-west4", "resource_pools": [pool_of_a100]}
    settings = {"most": 20, "unknownPrices": "allow"}  # one machine costs about $4 without its fee
    (message,) = found("hourly-cost", settings, "PersistentResource", machines)
    assert message.startswith("resource_pools: at least $3")
    assert " an hour with autoscaled pools at their maximum; " in message
    assert not found("hourly-cost", {**settings, "most": 40}, "PersistentResource", machines)


@every_row(
    ("name", "settings", "inputs"),
    [
        ("machine-types", {"allowed": ["g2-*"]}, job(pool(UNKNOWN))),
        ("machine-types", {"allowed": ["g2-*"]}, {**job(), "worker_pool_specs": UNKNOWN}),
        ("replicas", {"most": 1}, job(pool(), pool(count=UNKNOWN))),
        ("images", {}, job(pool(image=UNKNOWN))),
        ("hourly-cost", {"most": 0.01}, job(pool(), pool(count=UNKNOWN))),
        ("hourly-cost", {"most": 0.01}, {**job(pool()), "location": UNKNOWN}),
        ("labels", {"required": ["team"]}, job(pool(), labels=UNKNOWN)),
        ("labels", {"values": {"team": ["vision"]}}, job(pool(), labels={"team": UNKNOWN})),
        ("regions", {"allowed": ["europe-*"]}, {**job(pool()), "location": UNKNOWN}),
        ("service-account", {"allowed": ["*@b"]}, job(pool(), service_account=UNKNOWN)),
        ("encryption-key", {"allowed": ["projects/*"]}, job(pool(), encryption_spec=UNKNOWN)),
        ("timeout", {"most": "60s"}, job(pool(), scheduling=UNKNOWN)),
    ],
)
def test_a_value_that_is_not_known_yet_decides_nothing(name, settings, inputs) -> None:
    assert found(name, settings, "CustomJob", inputs) == []
    assert found(name, settings, "CustomJob", inputs, undecided=True)


@every_row(
    ("name", "settings"),
    [("replicas", {"most": 1}), ("hourly-cost", {"most": 0.01}), ("accelerators", {"most": 1})],
)
def test_an_unknown_variable_leaves_machines_decided(name, settings) -> None:
    of_task = {"image_uri": PREBUILT, "env": [{"name": "API_KEY", "value": UNKNOWN}]}
    pools = [{**t4(count=2), "container_spec": of_task}, pool()]
    assert found(name, settings, "CustomJob", job(*pools))
    assert not found(name, settings, "CustomJob", job(*pools), undecided=True)


@every_row(
    ("name", "settings", "inputs", "message"),
    [
        (
            "labels",
            {"values": {"team": ["vision"]}},
            {**job(pool()), "labels": {"team": "hunter2"}},
            "labels.team: the secret is not allowed. Choose vision.",
        ),
        (
            "service-account",
            {"allowed": ["a@b"]},
            job(pool(), service_account="hunter2@b"),
            "service_account: the secret is not allowed. Choose a@b.",
        ),
        (
            "machine-types",
            {"allowed": ["g2-*"]},
            job(pool()),
            "worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-4' is not allowed. Choose g2-*.",
        ),
    ],
)
def test_a_secret_is_not_shown(name, settings, inputs, message) -> None:
    configuration = configuration_of({name: settings})
    (configured,) = (one for one in configuration.policies if one.policy.name == name)
    subject = subject_of("CustomJob", "train", "dev", inputs, secret=inputs)
    assert subject is not None
    (violation,) = violations(configured, subject, built_in)
    assert str(violation) == f"train: {message}"
    assert violation.secret


def test_only_kinds_with_policies_are_read() -> None:
    assert kind_of("pulumi-python:dynamic/customJob:CustomJob") == "CustomJob"
    assert kind_of("pulumi-python:dynamic/stackKey:StackKey") is None
    assert kind_of("gcp:storage/bucket:Bucket") is None
    assert stack_of("urn:pulumi:prod::train::a$b::name") == "prod"
