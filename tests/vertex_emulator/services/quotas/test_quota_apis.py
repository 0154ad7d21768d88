"""Quotas and their usage as Google's APIs show them, over REST. tests/clients/projects has the clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from support.emulated.emulator import Answer, ask, running
from support.emulated.job_emulator import job, pool
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

QUOTAS = "/v1/projects/local/locations/global/services/aiplatform.googleapis.com/quotaInfos"
METRICS = "/v1beta1/projects/local/services/aiplatform.googleapis.com/consumerQuotaMetrics"
T4 = "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus"
CPUS = "aiplatform.googleapis.com/custom_model_training_cpus"
USAGE = "serviceruntime.googleapis.com/quota/allocation/usage"


@pytest.fixture(scope="module")
def module_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("quotas")) as daemon:
        yield daemon


@pytest.fixture
def emulator(module_emulator: Daemon) -> Iterator[Daemon]:
    """Yield an emulator whose jobs have no process, and which has no quota before and after a test."""
    assert ask(module_emulator, "PUT", "/_local/start-delay", {"seconds": 3600}).status == 200
    yield module_emulator
    assert ask(module_emulator, "POST", "/_local/reset", {}).status == 200


def get(emulator: Daemon, path: str) -> Any:
    return ask(emulator, "GET", path).ok().json()


def limit(emulator: Daemon, metric: str, value: int, **more: Any) -> None:
    ask(emulator, "POST", "/_local/quotas", {"metric": metric, "limit": value, **more}).ok()


def create(
    emulator: Daemon, *, region: str = "us-central1", project: str = "local", **scheduling: str
) -> str:
    machine = {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2}
    path = f"/v1/projects/{project}/locations/{region}/customJobs"
    pools = [{**pool("pass", replicas=replicas), "machineSpec": machine} for replicas in (1, 2)]
    body = job(*pools, scheduling=scheduling)
    answer = ask(emulator, "POST", path, body)
    assert answer.status == 200, answer.body
    return str(answer.json()["name"])


def series(emulator: Daemon, condition: str = "", *, project: str = "local", **more: str) -> Answer:
    now = datetime.now(timezone.utc)
    query = {
        "filter": f'metric.type="{USAGE}"' + (f" AND {condition}" if condition else ""),
        "interval.startTime": (now - timedelta(hours=1)).isoformat(),
        "interval.endTime": now.isoformat(),
        **more,
    }
    return ask(emulator, "GET", f"/v3/projects/{project}/timeSeries?{urlencode(query)}")


def used(answer: Answer) -> Mapping[tuple[str, str], int]:
    """Return the value of each series by metric and region."""
    assert answer.status == 200, answer.body
    return {
        (each["metric"]["labels"]["quota_metric"], each["resource"]["labels"]["location"]): int(
            each["points"][0]["value"]["int64Value"]
        )
        for each in answer.json().get("timeSeries", [])
    }


@pytest.mark.parity(
    "Quotas, permissions and services of a project: quotas of Cloud Quotas and of Service Usage",
    own_way="the metrics of custom training with the quotas that are set, else -1; changes only by "
    "the emulator's own command",
)
def test_without_a_quota_there_is_no_limit(emulator: Daemon) -> None:
    infos = get(emulator, QUOTAS)["quotaInfos"]
    metrics = [each["metric"] for each in infos]
    assert {T4, CPUS} <= set(metrics)
    assert len(set(metrics)) == len(metrics)
    for info in infos:
        (entry,) = info["dimensionsInfos"]
        assert entry["details"] == {"value": "-1"}
        assert "us-central1" in entry["applicableLocations"]


@pytest.mark.parity(
    "Quotas, permissions and services of a project: quotas of Cloud Quotas and of Service Usage"
)
def test_a_region_with_a_quota_of_its_own(emulator: Daemon) -> None:
    limit(emulator, "NVIDIA_TESLA_T4", 8)
    limit(emulator, "NVIDIA_TESLA_T4", 0, region="europe-west4")
    info = get(emulator, f"{QUOTAS}/CustomModelTrainingT4GPUsPerProjectPerRegion")
    own, others = info["dimensionsInfos"]
    assert own["dimensions"] == {"region": "europe-west4"}
    assert own["applicableLocations"] == ["europe-west4"]
    assert own.get("details", {}).get("value", "0") == "0"
    assert others["details"] == {"value": "8"}
    assert "dimensions" not in others
    assert "europe-west4" not in others["applicableLocations"]
    assert (info["metric"], info["quotaId"]) == (T4, "CustomModelTrainingT4GPUsPerProjectPerRegion")
    assert (info["dimensions"], info["containerType"], info["service"]) == (
        ["region"],
        "PROJECT",
        "aiplatform.googleapis.com",
    )


def test_pages_have_each_quota_once(emulator: Daemon) -> None:
    whole = get(emulator, QUOTAS)["quotaInfos"]
    found: list[Any] = []
    token = ""
    while True:
        page = get(emulator, f"{QUOTAS}?pageSize=7&pageToken={token}")
        found += page["quotaInfos"]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert found == whole
    wrong = ask(emulator, "GET", f"{QUOTAS}?pageToken=nonsense")
    assert wrong.status == 400


@pytest.mark.parity(
    "Quotas, permissions and services of a project: quotas of Cloud Quotas and of Service Usage"
)
@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        (f"{QUOTAS}/Other", 404, "was not found"),
        (QUOTAS.replace("global", "us-central1"), 400, "The location of quotas is global"),
        (QUOTAS.replace("projects", "folders"), 400, "of projects only"),
        (f"{QUOTAS}?pageSize=-1", 400, "The page size is -1"),
        (f"{METRICS}?pageSize=-1", 400, "The page size is -1"),
        (f"{METRICS}/compute.googleapis.com%2Fcpus", 404, "was not found"),
        ("/v1/projects/local/locations/global/quotaPreferences", 400, "ListQuotaPreferences"),
    ],
)
def test_what_there_is_not(emulator: Daemon, path: str, status: int, says: str) -> None:
    answer = ask(emulator, "GET", path)
    assert (answer.status, says in answer.message) == (status, True), answer.body


def test_other_services_have_no_quota_here(emulator: Daemon) -> None:
    assert get(emulator, QUOTAS.replace("aiplatform", "compute")) == {}


@pytest.mark.parity(
    "Quotas, permissions and services of a project: quotas of Cloud Quotas and of Service Usage"
)
def test_the_older_form(emulator: Daemon) -> None:
    limit(emulator, "cpus", 96, region="us-central1")
    name = f"{METRICS}/{quote(CPUS, safe='')}"
    metric = get(emulator, name)
    number = project_number("local")
    assert metric["name"] == name.removeprefix("/v1beta1/").replace("projects/local", f"projects/{number}")
    (found,) = metric["consumerQuotaLimits"]
    assert found["unit"] == "1/{project}/{region}"
    assert found["quotaBuckets"] == [
        {"effectiveLimit": "-1", "defaultLimit": "-1"},
        {"effectiveLimit": "96", "defaultLimit": "-1", "dimensions": {"region": "us-central1"}},
    ]
    full = get(emulator, f"{METRICS}?view=FULL")["metrics"]
    buckets = next(each for each in full if each["metric"] == CPUS)["consumerQuotaLimits"][0]["quotaBuckets"]
    assert len(buckets) == 1 + len(found["supportedLocations"])
    assert get(emulator, f"{name}/limits/%2Fproject%2Fregion") == found


@pytest.mark.parity(
    "Quotas, permissions and services of a project: usage of quotas in Cloud Monitoring",
    own_way="one point, now, from the jobs that are pending or running; no other metric, no aggregation",
)
def test_the_usage_of_live_jobs(emulator: Daemon) -> None:
    assert used(series(emulator)) == {}
    name = create(emulator)
    create(emulator, region="europe-west4", strategy="SPOT")
    create(emulator, project="other")
    spot = T4.replace("nvidia", "preemptible_nvidia")
    assert used(series(emulator)) == {
        (T4, "us-central1"): 6,
        (CPUS, "us-central1"): 24,
        (spot, "europe-west4"): 6,
        (CPUS.replace("cpus", "preemptible_cpus"), "europe-west4"): 24,
    }
    here = 'resource.label.location="us-central1" AND resource.label.service="aiplatform.googleapis.com"'
    assert set(used(series(emulator, here))) == {(T4, "us-central1"), (CPUS, "us-central1")}
    assert used(series(emulator, f'metric.labels.quota_metric="{T4}"')) == {(T4, "us-central1"): 6}
    assert used(series(emulator, 'resource.labels.service="compute.googleapis.com"')) == {}
    assert used(series(emulator, project=project_number("local"))) == used(series(emulator))
    assert ask(emulator, "POST", f"/v1/{name}:cancel", {}).status == 200
    assert set(used(series(emulator, here))) == set()


def test_a_series_says_what_it_is(emulator: Daemon) -> None:
    create(emulator)
    (found,) = series(emulator, f'metric.labels.quota_metric="{T4}"').json()["timeSeries"]
    assert found["metric"] == {"type": USAGE, "labels": {"quota_metric": T4}}
    assert found["resource"] == {
        "type": "consumer_quota",
        "labels": {
            "project_id": "local",
            "service": "aiplatform.googleapis.com",
            "location": "us-central1",
        },
    }
    assert (found["metricKind"], found["valueType"]) == ("GAUGE", "INT64")
    headers = series(emulator, view="HEADERS").json()["timeSeries"]
    assert all("points" not in each for each in headers)


@pytest.mark.parity("Quotas, permissions and services of a project: usage of quotas in Cloud Monitoring")
def test_the_past_is_not_recorded(emulator: Daemon) -> None:
    create(emulator)
    end = datetime.now(timezone.utc) - timedelta(hours=1)
    start = end - timedelta(hours=1)
    interval = {"interval.startTime": start.isoformat(), "interval.endTime": end.isoformat()}
    assert used(series(emulator, **interval)) == {}


@pytest.mark.parity("Quotas, permissions and services of a project: usage of quotas in Cloud Monitoring")
@pytest.mark.parametrize(
    ("condition", "is_found"),
    [
        (
            'metric.labels.quota_metric = starts_with("aiplatform.googleapis.com/custom_")',
            1,
        ),
        ('metric.labels.quota_metric = ends_with("_cpus")', False),
        ('metric.labels.quota_metric != ends_with("_cpus")', True),
        ('metric.label.quota_metric = has_substring("_t4_")', True),
        ('resource.labels.location = one_of("europe-west4", "us-central1")', True),
        ('resource.labels.location = one_of("europe-west4")', False),
        ('resource.labels.location != one_of("europe-west4","us-central1")', False),
        ('resource.labels.location = monitoring.regex.full_match("us-.*1")', True),
        ('resource.labels.location = monitoring.regex.full_match("us|europe")', False),
        ('(resource.labels.location = starts_with("us") OR project = "other")', True),
    ],
)
def test_filters_with_functions(emulator: Daemon, condition: str, is_found: bool) -> None:
    create(emulator)
    found = used(series(emulator, condition))
    assert ((T4, "us-central1") in found) == is_found


@pytest.mark.parity("Quotas, permissions and services of a project: usage of quotas in Cloud Monitoring")
@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"filter": ""}, 400, "metric.type"),
        ({"filter": f'metric.type=start_with("{USAGE}")'}, 400, "Did you mean 'starts_with'?"),
        ({"filter": f'metric.type=starts_with("{USAGE}"'}, 400, "a parenthesis is not closed"),
        ({"filter": f'metric.type=starts_with("{USAGE}","a")'}, 400, "one argument, not 2"),
        ({"filter": 'metric.type=monitoring.regex.full_match("(")'}, 400, "is not a pattern"),
        ({"filter": f'metric.type:one_of("{USAGE}")'}, 400, "compared with = or !="),
        ({"filter": 'resource.type="consumer_quota"'}, 400, "metric.type"),
        ({"filter": 'metric.type="custom.googleapis.com/loss"'}, 404, "Cannot find metric(s)"),
        ({"filter": "metric.type=("}, 400, "Field filter"),
        ({"interval.startTime": "2999-01-01T00:00:00Z"}, 400, "interval.start_time"),
        ({"aggregation.alignmentPeriod": "60s"}, 400, "does not aggregate"),
        ({"filter": f'metric.type="{USAGE}" AND resource.label.location>"a"'}, 400, ">"),
    ],
)
def test_filters_that_cannot_be(emulator: Daemon, query: dict[str, str], status: int, says: str) -> None:
    create(emulator)
    answer = series(emulator, **query)
    assert (answer.status, says in answer.message) == (status, True), answer.body


@pytest.mark.parametrize(
    ("region", "near"),
    [("us-centrl1", "us-central1"), ("europe-west99", None), ("*", None)],  # one may be newer than the table
)
def test_a_misspelt_region_has_no_quota(emulator: Daemon, region: str, near: str | None) -> None:
    answer = ask(emulator, "POST", "/_local/quotas", {"metric": "cpus", "region": region, "limit": 1})
    assert answer.status == (400 if near else 200)
    assert near is None or answer.message == f"There is no region {region!r}. Did you mean {near!r}?"


def test_a_queued_job_uses_nothing(emulator: Daemon) -> None:
    limit(emulator, "NVIDIA_TESLA_T4", 6)
    create(emulator)
    create(emulator)
    assert used(series(emulator))[T4, "us-central1"] == 6
    listed = get(emulator, "/_local/quotas")["quotas"]
    assert [each["usage"][0]["used"] for each in listed] == [6]
