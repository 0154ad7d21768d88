"""The findings of a preflight in a project of Google Cloud, over HTTP, one mistake at a time."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.preflight import before_submission
from pulumi_vertex_training.preflight.finding import CHECKS, Finding
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.scripted_service import Answer, refusal
from support.services.google_project import (
    NUMBER,
    PROJECT,
    REGION,
    REGISTRY,
    GoogleProject,
    google_project,
    quota,
)
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import PscInterfaceConfig, Scheduling
from vertex_training.topology.pools import ContainerSpec, MachineSpec, ReservationAffinity, WorkerPoolSpec

NEVER_LATE = 120.0
ACCOUNT = "trainer@my-project.iam.gserviceaccount.com"
OWN_ACCOUNT = f"service-{NUMBER}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
IMAGE = f"{REGISTRY}/my-project/images/train:1"
RESERVATION = "projects/my-project/zones/us-central1-a/reservations/mine"
L4 = MachineSpec(machine_type="g2-standard-4", accelerator_type="NVIDIA_L4", accelerator_count=1)
ATTACHMENT = f"projects/my-project/regions/{REGION}/networkAttachments/mine"


def pool(machine: MachineSpec, replicas: int = 1, image: str = IMAGE) -> WorkerPoolSpec:
    return WorkerPoolSpec(
        machine_spec=machine, replica_count=replicas, container_spec=ContainerSpec(image_uri=image)
    )


JOB = CustomJobSpec(
    display_name="train",
    worker_pool_specs=(pool(L4), pool(L4, 3)),
    service_account=ACCOUNT,
    base_output_directory="gs://data/out/",
)


@pytest.fixture
def google() -> Iterator[GoogleProject]:
    with google_project() as made:
        yield made


def look(
    google: GoogleProject, *specs: CustomJobSpec, is_preview: bool = False, **more: Any
) -> list[Finding]:
    """Return the findings about jobs, by default about one that has all it needs."""
    subjects = tuple(
        Subject(name=f"job-{number}", collection="customJobs", spec=spec, **more)
        for number, spec in enumerate(specs or (JOB,))
    )
    scope = Scope(
        project=PROJECT, location=REGION, is_emulator=False, subjects=subjects, is_preview=is_preview
    )
    return list(findings_of(scope, google.endpoint, Lookups(), seconds=NEVER_LATE))


def bad(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.level) for finding in found if finding.level != "ok"]


def only(found: list[Finding]) -> Finding:
    """Return the one finding that is not in order."""
    (finding,) = [finding for finding in found if finding.level != "ok"]
    return finding


G2_CPUS = quota("g2_cpus", (None, 100))


@pytest.fixture(autouse=True)
def _quota_of_g2(google: GoogleProject) -> None:
    google.quotas.append(G2_CPUS)


def test_a_project_in_order_passes_every_check_that_the_job_needs(google: GoogleProject) -> None:
    found = look(google)

    assert bad(found) == []
    assert {finding.check for finding in found} == set(CHECKS) - {"machines", "reservations", "network"}
    assert [finding.check for finding in found] == sorted(
        (finding.check for finding in found), key=CHECKS.index
    )
    assert "4 asked for, 0 of 8 in use" in [finding.message for finding in found]


def _disable(google: GoogleProject) -> None:
    google.disabled.add("aiplatform.googleapis.com")


def _deny(*permissions: str) -> Callable[[GoogleProject], None]:
    return lambda google: google.denied.update(permissions)


def _set(**values: Any) -> Callable[[GoogleProject], None]:
    def change(google: GoogleProject) -> None:
        for name, value in values.items():
            setattr(google, name, value)

    return change


ELSEWHERE = {"location": "US-EAST1", "projectNumber": NUMBER}
MISTAKES = {
    "service": (_disable, "services", "error", "gcloud services enable aiplatform.googleapis.com"),
    "job permission": (
        _deny("aiplatform.customJobs.create"),
        "permissions",
        "error",
        "--role=roles/aiplatform.user",
    ),
    "log permission": (
        _deny("logging.logEntries.list"),
        "permissions",
        "warning",
        "--role=roles/logging.viewer",
    ),
    "act as": (
        _deny("iam.serviceAccounts.actAs"),
        "permissions",
        "error",
        f"gcloud iam service-accounts add-iam-policy-binding {ACCOUNT}",
    ),
    "no account": (
        _set(account=None),
        "replicas",
        "error",
        "gcloud iam service-accounts create trainer --project=my-project",
    ),
    "disabled account": (
        _set(account={"disabled": True}),
        "replicas",
        "error",
        f"gcloud iam service-accounts enable {ACCOUNT}",
    ),
    "no access to the bucket": (
        _set(policy=[]),
        "replicas",
        "warning",
        f"gs://data --member=serviceAccount:{ACCOUNT} --role=roles/storage.objectUser",
    ),
    "access by a group": (
        _set(policy=[{"role": "roles/storage.objectUser", "members": ["group:team@example.com"]}]),
        "replicas",
        "unknown",
        "--role=roles/storage.objectUser",
    ),
    "access under a condition": (
        _set(
            bucket_policy=[],
            policy=[
                {
                    "role": "roles/editor",
                    "members": [f"serviceAccount:{ACCOUNT}"],
                    "condition": {"title": "t"},
                }
            ],
        ),
        "replicas",
        "unknown",
        "--role=roles/storage.objectUser",
    ),
    "no image": (_set(config=None), "images", "error", "docker push"),
    "platform": (
        _set(config={"os": "linux", "architecture": "arm64"}),
        "images",
        "error",
        "--platform=linux/amd64",
    ),
    "no bucket": (_set(bucket=None), "buckets", "error", "gcloud storage buckets create gs://data "),
    "region of the bucket": (_set(bucket=ELSEWHERE), "buckets", "error", "--location=us-central1"),
    "quotas denied": (_deny("GET quotaInfos"), "quota", "unknown", "--role=roles/cloudquotas.viewer"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_finding_with_what_fixes_it(google: GoogleProject, name: str) -> None:
    change, check, level, remedy = MISTAKES[name]
    change(google)

    finding = only(look(google))

    assert (finding.check, finding.level) == (check, level)
    assert remedy in finding.remedy, finding
    if finding.remedy.startswith("gcloud "):
        assert shlex.split(finding.remedy)


@pytest.mark.parametrize(
    ("limit", "usage", "live", "level", "message"),
    [
        (8, 0, 0, "ok", "4 asked for, 0 of 8 in use"),
        (8, 4, 0, "ok", "4 asked for, 4 of 8 in use"),
        (8, 5, 0, "warning", "4 asked for, but 5 of 8 are in use"),
        (8, 0, 5, "warning", "4 asked for, but 5 of 8 are in use"),
        (8, 2, 5, "warning", "4 asked for, but 5 of 8 are in use"),
        (3, 0, 0, "error", "4 asked for, but the quota is 3"),
        (-1, 900, 0, "ok", "4 asked for, without a limit"),
    ],
)
def test_quota_is_what_live_jobs_and_google_leave(
    google: GoogleProject, limit: int, usage: int, live: int, level: str, message: str
) -> None:
    google.quotas = [quota("nvidia_l4_gpus", ("us-east1", 1), (None, limit)), G2_CPUS]
    google.usage = {"nvidia_l4_gpus": usage} if usage else {}
    google.jobs = [live_job("1", live)] if live else []

    (finding,) = [
        one for one in look(google) if one.about == f"custom_model_training_nvidia_l4_gpus in {REGION}"
    ]

    assert finding.level == level
    assert finding.message.startswith(message)


def live_job(job_id: str, gpus: int, state: str = "JOB_STATE_RUNNING", **labels: str) -> dict[str, Any]:
    machine = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
    pools = [{"machineSpec": machine, "replicaCount": str(gpus), "containerSpec": {"imageUri": IMAGE}}]
    return {
        "name": f"projects/{NUMBER}/locations/{REGION}/customJobs/{job_id}",
        "displayName": "other",
        "state": state,
        "labels": labels,
        "jobSpec": {"workerPoolSpecs": pools},
    }


def test_a_job_that_ends_for_the_new_one_or_waits_in_the_queue_leaves_its_quota(
    google: GoogleProject,
) -> None:
    google.jobs = [
        live_job("1", 3, **{"vertex-training-run": "0123456789abcdef-2"}),
        live_job("2", 2),
        live_job("3", 8, state="JOB_STATE_QUEUED"),
    ]
    google.usage = {"nvidia_l4_gpus": 5}
    by_name = f"projects/my-project/locations/{REGION}/customJobs/1"

    for replaces in (by_name, "0123456789abcdef-2"):
        messages = [one.message for one in look(google, replaces=replaces)]
        assert "4 asked for, 2 of 8 in use" in messages
    assert any("5 of 8 are in use" in one.message for one in look(google))


LATER = "; a job that waits for the completion of another one does not need it at the same time"
OF_GPUS = f"custom_model_training_nvidia_l4_gpus in {REGION}"


def of_gpus(count: int) -> CustomJobSpec:
    return replace(JOB, worker_pool_specs=(pool(L4, count),))


def test_jobs_of_one_deployment_are_added_up_and_may_run_one_after_another(google: GoogleProject) -> None:
    finding = only(look(google, JOB, JOB, JOB))

    assert finding.level == "warning"
    assert finding.message == f"job-0, job-1 and job-2 ask for 12 together, but the quota is 8{LATER}"
    assert finding.remedy == "https://console.cloud.google.com/iam-admin/quotas?project=my-project"

    google.jobs = [live_job("1", 5)]
    message = only(look(google, *[of_gpus(1)] * 10)).message
    assert message.startswith(
        "job-0, job-1, job-2, job-3, job-4, job-5, job-6 and 3 other jobs ask for 10 together, but the quota "
        "is 8 and 5 are in use;"
    )
    message = only(look(google, of_gpus(1), of_gpus(3))).message
    assert message == f"job-0 and job-1 ask for 4 together, but 5 of 8 are in use{LATER}"


def test_a_job_above_the_quota_is_an_error_of_its_own(google: GoogleProject) -> None:
    found = [one for one in look(google, of_gpus(9), of_gpus(4), of_gpus(5)) if one.about == OF_GPUS]

    assert [(one.level, one.resource, one.message) for one in found] == [
        ("error", "job-0", "9 asked for, but the quota is 8"),
        ("warning", "", f"job-1 and job-2 ask for 9 together, but the quota is 8{LATER}"),
    ]


@pytest.mark.parametrize(
    ("counts", "in_use", "message"),
    [
        ((4, 4), 0, None),
        ((4, 4), 1, f"a and b ask for 8 together, but 1 of 8 are in use{LATER}"),
        ((4, 5), 0, f"a and b ask for 9 together, but the quota is 8{LATER}"),
        ((9, 4), 0, None),  # a has a finding of its own
        ((9, 4, 5), 0, f"b and c ask for 9 together, but the quota is 8{LATER}"),
        ((4, 2), 5, None),  # a has a finding of its own
        ((4, 2, 2), 5, f"b and c ask for 4 together, but 5 of 8 are in use{LATER}"),
    ],
)
def test_the_jobs_of_a_preview_that_fit_alone_are_judged_together_by_the_answers_that_it_has(
    google: GoogleProject, counts: tuple[int, ...], in_use: int, message: str | None
) -> None:
    google.jobs = [live_job("1", in_use)] if in_use else []
    lookups = Lookups()
    subjects = [
        Subject(name=name, collection="customJobs", spec=of_gpus(count))
        for name, count in zip("abc", counts, strict=False)
    ]
    place: dict[str, Any] = {"project": PROJECT, "location": REGION, "connect": google.endpoint}
    place |= {"lookups": lookups, "seconds": NEVER_LATE}
    for subject in subjects:
        before_submission.problems_of(subject, **place, reported=(), is_preview=True)
    calls = len(google.service.asked)

    found = before_submission.quota_problems(subjects, **place)

    remedy = ". See https://console.cloud.google.com/iam-admin/quotas?project=my-project."
    assert [str(one) for one in found] == ([] if message is None else [f"{OF_GPUS}: {message}{remedy}"])
    assert all(one.level == "warning" for one in found)
    assert len(google.service.asked) == calls


def test_quotas_that_could_not_be_looked_up_are_not_judged_together(google: GoogleProject) -> None:
    google.denied.add("GET quotaInfos")
    subject = Subject(name="train", collection="customJobs", spec=of_gpus(5))

    found = before_submission.quota_problems(
        [subject, subject],
        project=PROJECT,
        location=REGION,
        connect=google.endpoint,
        lookups=Lookups(),
        seconds=NEVER_LATE,
    )

    assert found == ()


def test_spot_and_flex_start_take_the_preemptible_quota(google: GoogleProject) -> None:
    spot = replace(JOB, scheduling=Scheduling(strategy="SPOT"))
    google.quotas += [
        quota("preemptible_nvidia_l4_gpus", (None, 2)),
        quota("preemptible_g2_cpus", (None, 99)),
    ]

    finding = only(look(google, spot))

    assert finding.about == f"custom_model_training_preemptible_nvidia_l4_gpus in {REGION}"


def test_a_quota_that_google_does_not_list_is_unknown(google: GoogleProject) -> None:
    google.quotas = [each for each in google.quotas if not each["metric"].endswith("nvidia_l4_gpus")]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("quota", "unknown")


def test_jobs_on_a_persistent_resource_ask_for_no_quota(google: GoogleProject) -> None:
    found = look(google, replace(JOB, persistent_resource_id="mine"))

    assert not [one for one in found if one.check == "quota"]


def test_vertex_ai_s_own_account_reaches_the_buckets_of_its_project_only(google: GoogleProject) -> None:
    job = replace(JOB, service_account=None)
    google.policy = []
    assert bad(look(google, job)) == []

    google.bucket = {"location": "us-central1", "projectNumber": "999"}
    finding = only(look(google, job))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert OWN_ACCOUNT in finding.remedy


def test_a_role_in_the_job_s_project_opens_no_bucket_of_another_one(google: GoogleProject) -> None:
    google.bucket = {"location": "us-central1", "projectNumber": "999"}
    google.policy = [{"role": "roles/storage.admin", "members": [f"serviceAccount:{ACCOUNT}"]}]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.message.startswith(f"neither the bucket nor its project lets {ACCOUNT} write to it")

    google.policy_elsewhere, google.policy = google.policy, []
    assert bad(look(google)) == []


def test_an_account_of_google_s_own_cannot_be_created(google: GoogleProject) -> None:
    google.account = None
    job = replace(JOB, service_account=f"{NUMBER}-compute@developer.gserviceaccount.com")

    finding = next(one for one in look(google, job) if one.level == "error")

    assert finding.message == "does not exist"
    assert finding.remedy == "gcloud iam service-accounts list --filter=email:developer.gserviceaccount.com"


def test_a_project_with_a_domain_is_named_as_gcloud_does(google: GoogleProject) -> None:
    google.account = None
    job = replace(JOB, service_account="trainer@my-project.example.com.iam.gserviceaccount.com")

    finding = next(one for one in look(google, job) if one.level == "error")

    assert finding.remedy == "gcloud iam service-accounts create trainer --project=example.com:my-project"


def test_an_account_that_may_not_be_read_may_be_disabled(google: GoogleProject) -> None:
    google.answers = [(ACCOUNT, refusal(403, "PERMISSION_DENIED", "Permission denied on it"))]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("replicas", "unknown")
    assert finding.about == f"service account {ACCOUNT}: whether it is enabled"
    assert "--role=roles/iam.serviceAccountUser" in finding.remedy


def test_a_project_that_is_denied_as_a_whole_may_not_exist(google: GoogleProject) -> None:
    denied = refusal(403, "PERMISSION_DENIED", "The caller does not have permission")
    google.answers = [("/v3/projects/my-project", denied), ("/my-project:testIamPermissions", denied)]

    finding = next(one for one in look(google) if one.check == "project")

    assert finding.level == "unknown"
    assert finding.message.startswith("does not exist, or the account has no role in it: ")
    assert finding.remedy == "gcloud projects list"

    google.answers = google.answers[:1]
    finding = next(one for one in look(google) if one.check == "project")
    assert "--role=roles/browser" in finding.remedy


MADE = {
    "account": (_set(account=None), "trainer"),
    "bucket": (_set(bucket=None), "data"),
    "image": (_set(config=None), "train"),
    "service": (_disable, "aiplatform.googleapis.com"),
    "role": (_set(policy=[]), f"serviceAccount:{ACCOUNT}"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_the_deployment_makes_is_not_missing(google: GoogleProject, name: str) -> None:
    change, made = MADE[name]
    change(google)

    assert bad(look(google)) != []
    assert bad(look(google, made=frozenset({made}))) == []


def test_a_network_that_the_deployment_makes_or_peers_is_not_missing(google: GoogleProject) -> None:
    job = replace(
        JOB,
        network=f"projects/{NUMBER}/global/networks/mine",
        psc_interface_config=PscInterfaceConfig(network_attachment=ATTACHMENT),
    )

    assert [one[0] for one in bad(look(google, job))] == ["network", "network"]
    assert bad(look(google, job, made=frozenset({"mine"}))) == []


def test_an_image_of_another_project_has_to_let_vertex_ai_read_it(google: GoogleProject) -> None:
    job = replace(JOB, worker_pool_specs=(pool(L4, image=f"{REGISTRY}/elsewhere/images/train:1"),))

    finding = only(look(google, job))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.remedy == (
        "gcloud artifacts repositories add-iam-policy-binding images --project=elsewhere "
        f"--location={REGION} --member=serviceAccount:{OWN_ACCOUNT} "
        "--role=roles/artifactregistry.reader"
    )


@pytest.mark.parametrize(
    ("reservation", "level", "message"),
    [
        (None, "error", "does not exist"),
        (("g2-standard-4", 4, 0), "ok", "4 machines asked for, 0 of 4 in use"),
        (("g2-standard-4", 4, 1), "warning", "4 machines asked for, but 1 of 4 are in use"),
        (("g2-standard-8", 9, 0), "error", "has g2-standard-8, but the job asks for g2-standard-4"),
    ],
)
def test_reservations(
    google: GoogleProject, reservation: tuple[str, int, int] | None, level: str, message: str
) -> None:
    affinity = ReservationAffinity(
        reservation_affinity_type="SPECIFIC_RESERVATION",
        key="compute.googleapis.com/reservation-name",
        values=(RESERVATION,),
    )
    machine = replace(L4, reservation_affinity=affinity)
    if reservation is not None:
        kind, count, used = reservation
        google.reservation = {
            "status": "READY",
            "specificReservation": {
                "count": str(count),
                "inUseCount": str(used),
                "instanceProperties": {"machineType": kind},
            },
        }

    found = look(google, replace(JOB, worker_pool_specs=(pool(machine), pool(machine, 3))))

    (finding,) = [one for one in found if one.check == "reservations"]
    assert (finding.level, finding.message) == (level, message)


@pytest.mark.parametrize(
    ("peerings", "level"),
    [
        (None, "error"),
        ([], "error"),
        ([{"name": "servicenetworking-googleapis-com", "state": "INACTIVE"}], "error"),
        ([{"name": "servicenetworking-googleapis-com", "state": "ACTIVE"}], "ok"),
    ],
)
def test_the_peering_of_a_network(google: GoogleProject, peerings: list[Any] | None, level: str) -> None:
    google.network = None if peerings is None else {"peerings": peerings}

    found = look(google, replace(JOB, network=f"projects/{NUMBER}/global/networks/mine"))

    (finding,) = [one for one in found if one.check == "network"]
    assert finding.level == level


@pytest.mark.parametrize(
    ("attachment", "level"), [(None, "error"), ({"connectionPreference": "ACCEPT_AUTOMATIC"}, "ok")]
)
def test_the_network_attachment_of_a_psc_interface(
    google: GoogleProject, attachment: dict[str, Any] | None, level: str
) -> None:
    google.attachment = attachment
    job = replace(JOB, psc_interface_config=PscInterfaceConfig(network_attachment=ATTACHMENT))

    (finding,) = [one for one in look(google, job) if one.check == "network"]

    assert finding.level == level
    assert (
        level == "ok"
        or f"network-attachments create mine --project=my-project --region={REGION}" in finding.remedy
    )


def test_the_account_of_a_plan_need_not_be_the_deployer_s(google: GoogleProject) -> None:
    google.denied |= {f"aiplatform.customJobs.{verb}" for verb in ("create", "cancel", "delete")}
    google.denied.add("iam.serviceAccounts.actAs")

    assert bad(look(google, is_preview=True)) == []
    assert bad(look(google)) == [("permissions", "error")] * 2
    google.denied.remove("aiplatform.customJobs.cancel")
    assert bad(look(google, is_preview=True)) == [("permissions", "error")] * 2


def test_nothing_that_is_not_known_yet_is_looked_up(google: GoogleProject) -> None:
    paths = {"base_output_directory", "serviceAccount", "worker_pool_specs[0].container_spec.image_uri"}
    google.config, google.bucket, google.account = None, None, None
    job = replace(JOB, worker_pool_specs=(pool(L4),))

    for gap in ("unknown", "passed_over"):
        assert bad(look(google, job, **{gap: frozenset(paths)})) == []


def test_without_credentials_there_is_one_finding(google: GoogleProject) -> None:
    google.answers = [
        ("", refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."))
    ]

    (finding,) = look(google)

    assert (finding.check, finding.level) == ("credentials", "error")
    assert finding.message == "Request had invalid authentication credentials"
    assert finding.remedy == "gcloud auth application-default login"


def test_a_service_that_does_not_answer_is_said_as_unknown(google: GoogleProject) -> None:
    google.answers = [("quotaInfos", Answer(delay=3600.0))]
    subject = Subject(name="train", collection="customJobs", spec=JOB)
    scope = Scope(project=PROJECT, location=REGION, is_emulator=False, subjects=(subject,))

    found = findings_of(scope, google.endpoint, Lookups(), seconds=1.0)

    late = [one for one in found if one.check == "quota"]
    assert [(one.level, one.message) for one in late] == [("unknown", "no answer in time")]


def test_a_host_that_refuses_connections_is_named_before_the_time_is_over(google: GoogleProject) -> None:
    closed = replace(
        google.endpoint(),
        addresses=tuple((host, "http://127.0.0.1:9") for host, _ in google.endpoint().addresses),
    )
    subject = Subject(name="train", collection="customJobs", spec=JOB)
    scope = Scope(project=PROJECT, location=REGION, is_emulator=False, subjects=(subject,))

    found = findings_of(scope, lambda: closed, Lookups(), seconds=5.0)

    (project,) = [one for one in found if one.check == "project"]
    assert (project.level, project.message) == ("unknown", "no connection: Connection refused")
    assert project.remedy.startswith("Check the network and the proxy")


def test_a_service_that_fails_is_said_as_unknown_with_its_words(google: GoogleProject) -> None:
    google.answers = [("services:batchGet", refusal(400, "INVALID_ARGUMENT", "Nothing goes"))]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("services", "unknown")
    assert "Nothing goes" in finding.message


def test_an_api_that_is_not_enabled_is_named(google: GoogleProject) -> None:
    page = "https://console.developers.google.com/apis/api/cloudquotas.googleapis.com/overview"
    words = (
        f"Cloud Quotas API has not been used in project 1 before. Enable it by visiting {page}?project=1 then"
    )
    google.answers = [("quotaInfos", refusal(403, "PERMISSION_DENIED", words))]

    finding = only(look(google))

    assert (finding.level, finding.message) == ("unknown", "cloudquotas.googleapis.com is not enabled")
    assert finding.remedy == "gcloud services enable cloudquotas.googleapis.com --project=1"


def test_the_calls_are_those_of_google_s_apis(google: GoogleProject) -> None:
    look(google)

    assert {asked.path for asked in google.service.asked} >= {
        "/v1/projects/my-project/locations/global/services/aiplatform.googleapis.com/quotaInfos",
        "/v3/projects/my-project:testIamPermissions",
        "/v3/projects/my-project/timeSeries",
        f"/v1/projects/-/serviceAccounts/{ACCOUNT}:testIamPermissions",
    }
