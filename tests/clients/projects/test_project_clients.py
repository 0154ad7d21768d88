"""Google's own clients of Cloud Quotas, Service Usage, Cloud Monitoring and Resource Manager, unchanged.

Each is used over gRPC, its default, and over REST where it can.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import cloudquotas_v1, monitoring_v3, resourcemanager_v3, service_usage_v1
from google.cloud.cloudquotas_v1.services.cloud_quotas import transports as quotas
from google.cloud.monitoring_v3.services.metric_service import transports as monitoring
from google.cloud.resourcemanager_v3.services.projects import transports as projects
from google.cloud.service_usage_v1.services.service_usage import transports as services

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import ask, running
from support.emulated.job_emulator import PARENT, Token, job, pool
from vertex_emulator.daemon.daemon import Daemon

SERVICE = "projects/local/locations/global/services/aiplatform.googleapis.com"
T4 = "CustomModelTrainingT4GPUsPerProjectPerRegion"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("projects")) as found:
        control(found, "PUT", "/_local/start-delay", {"seconds": 3600})
        yield found


@pytest.fixture(scope="module")
def channel(daemon: Daemon) -> Iterator[grpc.Channel]:
    with connected(daemon, daemon.token) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    for path in ("/_local/quotas", "/_local/denials"):
        control(daemon, "DELETE", path)


def control(daemon: Daemon, method: str, path: str, body: Any = None) -> Any:
    return ask(daemon, method, path, body).ok().json()


def over_rest(daemon: Daemon, transport: Any) -> Any:
    found = transport(
        host=daemon.url.removeprefix("http://"), url_scheme="http", credentials=Token(daemon.token)
    )
    found._session.trust_env = False
    return found


@pytest.fixture(params=["grpc", "rest"])
def quota_client(request: Any, daemon: Daemon, channel: grpc.Channel) -> Any:
    if request.param == "grpc":
        transport: Any = quotas.CloudQuotasGrpcTransport(channel=channel)
    else:
        transport = over_rest(daemon, quotas.CloudQuotasRestTransport)
    return cloudquotas_v1.CloudQuotasClient(transport=transport)


@pytest.fixture(params=["grpc", "rest"])
def service_client(request: Any, daemon: Daemon, channel: grpc.Channel) -> Any:
    if request.param == "grpc":
        transport: Any = services.ServiceUsageGrpcTransport(channel=channel)
    else:
        transport = over_rest(daemon, services.ServiceUsageRestTransport)
    return service_usage_v1.ServiceUsageClient(transport=transport)


@pytest.mark.parity(
    "Quotas, permissions and services of a project: quotas of Cloud Quotas and of Service Usage"
)
def test_quotas(quota_client: Any, emulator: Daemon) -> None:
    body = {"metric": "NVIDIA_TESLA_T4", "limit": 4, "region": "us-central1"}
    control(emulator, "POST", "/_local/quotas", body)
    listed = {info.quota_id: info for info in quota_client.list_quota_infos(parent=SERVICE)}
    (own, others) = listed[T4].dimensions_infos
    assert (dict(own.dimensions), own.details.value) == ({"region": "us-central1"}, 4)
    assert (dict(others.dimensions), others.details.value) == ({}, -1)
    assert listed[T4].metric == "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus"
    assert quota_client.get_quota_info(name=f"{SERVICE}/quotaInfos/{T4}") == listed[T4]
    with pytest.raises(exceptions.NotFound):
        quota_client.get_quota_info(name=f"{SERVICE}/quotaInfos/Other")
    control(emulator, "POST", "/_local/denials", {"permission": "cloudquotas.quotas.get"})
    with pytest.raises(exceptions.Forbidden, match=r"cloudquotas\.quotas\.get"):
        list(quota_client.list_quota_infos(parent=SERVICE))


@pytest.mark.parity("Quotas, permissions and services of a project: services of a project")
def test_services(service_client: Any, emulator: Daemon) -> None:
    name = "projects/local/services/cloudscheduler.googleapis.com"
    enabled = service_usage_v1.State.ENABLED
    assert service_client.get_service(request={"name": name}).state == enabled
    stopped = service_client.disable_service(request={"name": name}).result(timeout=30)
    assert stopped.service.state == service_usage_v1.State.DISABLED
    states = service_client.list_services(request={"parent": "projects/local", "filter": "state:ENABLED"})
    names = [each.config.name for each in states]
    assert "cloudscheduler.googleapis.com" not in names
    assert "aiplatform.googleapis.com" in names
    request = {"parent": "projects/local", "service_ids": ["cloudscheduler.googleapis.com"]}
    (again,) = service_client.batch_enable_services(request=request).result(timeout=30).services
    assert again.state == enabled
    read = service_client.batch_get_services(request={"parent": "projects/local", "names": [name]})
    assert [each.state for each in read.services] == [enabled]


@pytest.mark.parity("Quotas, permissions and services of a project: usage of quotas in Cloud Monitoring")
def test_usage(channel: grpc.Channel, emulator: Daemon) -> None:
    client = monitoring_v3.MetricServiceClient(
        transport=monitoring.MetricServiceGrpcTransport(channel=channel)
    )
    control(emulator, "POST", f"{PARENT}/customJobs", job(pool("pass"), pool("pass")))
    now = int(time.time())
    found = client.list_time_series(
        request={
            "name": "projects/local",
            "filter": 'metric.type = "serviceruntime.googleapis.com/quota/allocation/usage" AND '
            'resource.labels.service = "aiplatform.googleapis.com"',
            "interval": {"start_time": {"seconds": now - 3600}, "end_time": {"seconds": now}},
            "view": monitoring_v3.ListTimeSeriesRequest.TimeSeriesView.FULL,
        }
    )
    (series,) = found
    assert series.metric.labels["quota_metric"] == "aiplatform.googleapis.com/custom_model_training_cpus"
    assert series.resource.labels["location"] == "us-central1"
    assert [point.value.int64_value for point in series.points] == [8]


@pytest.fixture(params=["grpc", "rest"])
def project_client(request: Any, daemon: Daemon, channel: grpc.Channel) -> Any:
    if request.param == "grpc":
        transport: Any = projects.ProjectsGrpcTransport(channel=channel)
    else:
        transport = over_rest(daemon, projects.ProjectsRestTransport)
    return resourcemanager_v3.ProjectsClient(transport=transport)


@pytest.mark.parity("Quotas, permissions and services of a project: a list of projects")
def test_projects(project_client: Any, emulator: Daemon) -> None:
    for each in ("letters", "digits", "other"):
        project_client.set_iam_policy(request={"resource": f"projects/{each}", "policy": {}})
    pages = project_client.search_projects(request={"query": "NOT id:local", "page_size": 2})
    assert [found.project_id for found in pages] == ["digits", "letters", "other"]
    (one,) = project_client.search_projects(query="displayName=dig*")
    assert one == project_client.get_project(name=one.name)
    with pytest.raises(exceptions.BadRequest, match="no field"):
        project_client.search_projects(query="colour:red")
    with pytest.raises(exceptions.Forbidden, match="no folders/1"):
        project_client.list_projects(parent="folders/1")


def test_permissions_over_rest(emulator: Daemon) -> None:
    client = resourcemanager_v3.ProjectsClient(transport=over_rest(emulator, projects.ProjectsRestTransport))
    control(emulator, "POST", "/_local/denials", {"permission": "aiplatform.customJobs.create"})
    asked = ["aiplatform.customJobs.create", "aiplatform.customJobs.list"]
    answer = client.test_iam_permissions(resource="projects/local", permissions=asked)
    assert list(answer.permissions) == asked[1:]
    policy = client.get_iam_policy(resource="projects/local")
    assert "roles/owner" in [binding.role for binding in policy.bindings]
