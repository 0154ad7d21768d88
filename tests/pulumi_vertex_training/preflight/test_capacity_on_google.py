"""The findings about quota and reservations in Google Cloud, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.preflight import before_submission
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.client.services.google_project import PROJECT, REGION, GoogleProject, quota
from support.client.services.preflights import G2_CPUS, JOB, L4, NEVER_LATE, bad, live_job, look, only, pool
from support.scripted_service import refusal
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import Scheduling
from vertex_training.topology.pools import MachineSpec, ReservationAffinity

RESERVATION = "projects/my-project/zones/us-central1-a/reservations/mine"
LATER = "; a job that waits for the completion of another one does not need it at the same time"
OF_GPUS = f"custom_model_training_nvidia_l4_gpus in {REGION}"


def of_gpus(count: int) -> CustomJobSpec:
    return replace(JOB, worker_pool_specs=(pool(L4, count),))


@pytest.mark.parametrize(
    ("limit", "usage", "live", "level", "message"),
    [
        (8, 0, 0, "ok", "4 asked for, 0 of 8 in use"),
        (8, 4, 0, "ok", "4 asked for, 4 of 8 in use"),
        (8, 5, 0, "warning", "4 asked for, but 5 of 8 are in use"),
        (8, 0, 5, "warning", "4 asked for, but 5 of 8 are in use"),
        (8, 2, 5, "warning", "4 asked for, but 5 of 8 are in use"),
        (3, 0, 0, "error", "4 asked for, but the quota is 3"),
        (0, 0, 0, "error", "4 asked for, but the quota is 0"),
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


def test_a_job_that_ends_for_the_new_one_or_waits_in_the_queue_leaves_its_quota(
    google: GoogleProject,
) -> None:
    google.jobs = [
        live_job("1", 3, **{"vertex-training-declaration": "0123456789abcdef"}),
        live_job("2", 2),
        live_job("3", 8, state="JOB_STATE_QUEUED"),
    ]
    google.usage = {"nvidia_l4_gpus": 5}
    by_name = f"projects/my-project/locations/{REGION}/customJobs/1"

    for replaces in (by_name, "0123456789abcdef"):
        messages = [one.message for one in look(google, replaces=replaces)]
        assert "4 asked for, 2 of 8 in use" in messages
    assert any("5 of 8 are in use" in one.message for one in look(google))


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


@pytest.mark.parametrize(
    ("limit", "level", "message"),
    [
        (8, "ok", "4 asked for by each run, the quota is 8"),
        (3, "error", "4 asked for by each run, but the quota is 3"),
        (-1, "ok", "4 asked for by each run, without a limit"),
        (None, "unknown", "4 asked for by each run; Google lists no such quota here"),
    ],
)
def test_what_is_in_use_now_says_nothing_about_the_runs_of_a_schedule(
    google: GoogleProject, limit: int | None, level: str, message: str
) -> None:
    google.quotas = [G2_CPUS, *([] if limit is None else [quota("nvidia_l4_gpus", (None, limit))])]
    google.jobs = [live_job("1", 8)]

    (finding,) = [one for one in look(google, is_scheduled=True) if one.about == OF_GPUS]

    assert (finding.level, finding.resource, finding.message) == (level, "job-0", message)


def test_the_quota_of_schedules_is_not_added_to_that_of_jobs(google: GoogleProject) -> None:
    now = Subject(name="now", collection="customJobs", spec=JOB)
    later = replace(now, name="later", is_scheduled=True)
    scope = Scope(project=PROJECT, location=REGION, is_emulator=False, subjects=(later, now, later))

    found = list(findings_of(scope, google.endpoint, Lookups(), seconds=NEVER_LATE))

    assert bad(found) == []
    assert "4 asked for, 0 of 8 in use" in [one.message for one in found]


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


def test_each_job_with_machines_that_are_not_known_is_named(google: GoogleProject) -> None:
    found = look(google, JOB, JOB, unknown=frozenset({"workerPoolSpecs[0].machineSpec.machineType"}))

    unknown = [(one.resource, one.about) for one in found if (one.check, one.level) == ("quota", "unknown")]
    about = "quota of worker_pool_specs[0].machine_spec"
    assert unknown == [("job-0", about), ("job-1", about)]


def test_jobs_on_a_persistent_resource_ask_for_no_quota(google: GoogleProject) -> None:
    found = look(google, replace(JOB, persistent_resource_id="mine"))

    assert not [one for one in found if one.check == "quota"]


@pytest.mark.parametrize(
    "words",
    [
        "Your application is authenticating by using local Application Default Credentials. The "
        "cloudquotas.googleapis.com API requires a quota project, which is not set by default. To learn how "
        "to set your quota project, see "
        "https://cloud.google.com/docs/authentication/adc-troubleshooting/user-creds .",
        "Cloud Quotas API has not been used in project 764086051850 before or it is disabled. Enable it by "
        "visiting https://console.developers.google.com/apis/api/cloudquotas.googleapis.com/overview"
        "?project=764086051850 then retry.",
    ],
)
def test_credentials_without_a_quota_project_are_reported_as_such(google: GoogleProject, words: str) -> None:
    google.answers = [("/quotaInfos", refusal(403, "PERMISSION_DENIED", words))]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("quota", "unknown")
    assert finding.message == "the credentials name no quota project, which this service asks for"
    assert finding.remedy == "gcloud auth application-default set-quota-project my-project"


def test_an_api_that_is_not_enabled_is_named(google: GoogleProject) -> None:
    page = "https://console.developers.google.com/apis/api/cloudquotas.googleapis.com/overview"
    words = (
        f"Cloud Quotas API has not been used in project 1 before. Enable it by visiting {page}?project=1 then"
    )
    google.answers = [("quotaInfos", refusal(403, "PERMISSION_DENIED", words))]

    finding = only(look(google))

    assert (finding.level, finding.message) == ("unknown", "cloudquotas.googleapis.com is not enabled")
    assert finding.remedy == "gcloud services enable cloudquotas.googleapis.com --project=1"


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

    later = look(google, replace(JOB, worker_pool_specs=(pool(machine),)), is_scheduled=True)
    assert [one.level for one in later if one.check == "reservations"] == [
        "ok" if level == "warning" else level
    ]


def test_a_tpu_slice_asks_a_reservation_for_all_of_its_machines(google: GoogleProject) -> None:
    affinity = ReservationAffinity(
        reservation_affinity_type="SPECIFIC_RESERVATION",
        key="compute.googleapis.com/reservation-name",
        values=(RESERVATION,),
    )
    slice_of_8 = MachineSpec(
        machine_type="ct5lp-hightpu-4t", tpu_topology="4x8", reservation_affinity=affinity
    )
    google.reservation = {
        "status": "READY",
        "specificReservation": {
            "count": "4",
            "inUseCount": "0",
            "instanceProperties": {"machineType": "ct5lp-hightpu-4t"},
        },
    }
    found = look(google, replace(JOB, worker_pool_specs=(pool(slice_of_8),)))
    (finding,) = [one for one in found if one.check == "reservations"]
    assert finding.message == "8 machines asked for, but 0 of 4 are in use"
