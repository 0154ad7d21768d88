"""The permission that each call needs, and the service that it belongs to.

Source: the API references, "IAM permissions", of each service, and "IAM permissions for JSON methods" of
Cloud Storage. Methods are named as in faults: JobService.CreateCustomJob, storage.objects.insert. A method
that is not here needs no permission on the emulator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from vertex_emulator.server.rpc.methods import VERTEX_RESOURCES

_VERTEX = (  # service, message, collection
    *VERTEX_RESOURCES,
    ("TensorboardService", "TensorboardExperiment", "tensorboardExperiments"),
    ("TensorboardService", "TensorboardRun", "tensorboardRuns"),
    ("TensorboardService", "TensorboardTimeSeries", "tensorboardTimeSeries"),
    ("MetadataService", "MetadataSchema", "metadataSchemas"),
    ("MetadataService", "Context", "contexts"),
    ("MetadataService", "Artifact", "artifacts"),
    ("MetadataService", "Execution", "executions"),
)
_VERBS = ("Create", "Get", "Update", "Delete", "Cancel")


def _methods(service: str, noun: str, permissions: str, *, plural: str = "") -> Iterator[tuple[str, str]]:
    for verb in _VERBS:
        yield f"{service}.{verb}{noun}", f"{permissions}.{verb.lower()}"
    yield f"{service}.List{plural or f'{noun}s'}", f"{permissions}.list"


def _table() -> Iterator[tuple[str, str]]:
    for service, noun, collection in _VERTEX:
        plural = noun if noun.endswith("Series") else f"{noun}s"
        yield from _methods(service, noun, f"aiplatform.{collection}", plural=plural)
    repositories = "artifactregistry.repositories"
    yield from _methods("ArtifactRegistry", "Repository", repositories, plural="Repositories")
    yield from _methods("CloudScheduler", "Job", "cloudscheduler.jobs")
    yield from _STORAGE.items()
    yield from _OTHERS.items()
    for service, collection, method, verb in _EXPERIMENTS:
        yield f"{service}.{method}", f"aiplatform.{collection}.{verb}"


_STORAGE: Mapping[str, str] = {
    "storage.buckets.insert": "storage.buckets.create",
    "storage.buckets.get": "storage.buckets.get",
    "storage.buckets.list": "storage.buckets.list",
    "storage.buckets.patch": "storage.buckets.update",
    "storage.buckets.update": "storage.buckets.update",
    "storage.buckets.delete": "storage.buckets.delete",
    "storage.buckets.getIamPolicy": "storage.buckets.getIamPolicy",
    "storage.buckets.setIamPolicy": "storage.buckets.setIamPolicy",
    "storage.objects.insert": "storage.objects.create",
    "storage.objects.compose": "storage.objects.create",
    "storage.objects.copy": "storage.objects.create",
    "storage.objects.rewrite": "storage.objects.create",
    "storage.multipartUploads.create": "storage.objects.create",
    "storage.objects.get": "storage.objects.get",
    "storage.objects.list": "storage.objects.list",
    "storage.objects.patch": "storage.objects.update",
    "storage.objects.update": "storage.objects.update",
    "storage.objects.delete": "storage.objects.delete",
    "storage.objects.restore": "storage.objects.restore",
    "storage.objects.move": "storage.objects.move",
}
_EXPERIMENTS = (  # service, collection, method, verb
    ("TensorboardService", "tensorboardRuns", "BatchCreateTensorboardRuns", "batchCreate"),
    ("TensorboardService", "tensorboardRuns", "WriteTensorboardRunData", "write"),
    ("TensorboardService", "tensorboardExperiments", "WriteTensorboardExperimentData", "write"),
    ("TensorboardService", "tensorboardTimeSeries", "BatchCreateTensorboardTimeSeries", "batchCreate"),
    ("TensorboardService", "tensorboardTimeSeries", "ReadTensorboardTimeSeriesData", "read"),
    ("TensorboardService", "tensorboardTimeSeries", "BatchReadTensorboardTimeSeriesData", "batchRead"),
    ("MetadataService", "contexts", "AddContextArtifactsAndExecutions", "addContextArtifactsAndExecutions"),
    ("MetadataService", "contexts", "AddContextChildren", "addContextChildren"),
    ("MetadataService", "contexts", "QueryContextLineageSubgraph", "queryContextLineageSubgraph"),
    ("MetadataService", "executions", "AddExecutionEvents", "addExecutionEvents"),
    ("MetadataService", "executions", "QueryExecutionInputsAndOutputs", "queryExecutionInputsAndOutputs"),
    ("MetadataService", "artifacts", "QueryArtifactLineageSubgraph", "queryArtifactLineageSubgraph"),
)
_OTHERS: Mapping[str, str] = {
    "ModelService.UploadModel": "aiplatform.models.upload",
    "DatasetService.ImportData": "aiplatform.datasets.import",
    "DatasetService.ExportData": "aiplatform.datasets.export",
    "ArtifactRegistry.GetIamPolicy": "artifactregistry.repositories.getIamPolicy",
    "ArtifactRegistry.SetIamPolicy": "artifactregistry.repositories.setIamPolicy",
    "ArtifactRegistry.GetDockerImage": "artifactregistry.dockerimages.get",
    "ArtifactRegistry.ListDockerImages": "artifactregistry.dockerimages.list",
    "registry.manifests.get": "artifactregistry.repositories.downloadArtifacts",
    "registry.blobs.get": "artifactregistry.repositories.downloadArtifacts",
    "registry.tags.list": "artifactregistry.repositories.downloadArtifacts",
    "registry.manifests.put": "artifactregistry.repositories.uploadArtifacts",
    "registry.uploads.begin": "artifactregistry.repositories.uploadArtifacts",
    "registry.manifests.delete": "artifactregistry.repositories.deleteArtifacts",
    "LoggingServiceV2.ListLogEntries": "logging.logEntries.list",
    "LoggingServiceV2.WriteLogEntries": "logging.logEntries.create",
    "CloudScheduler.PauseJob": "cloudscheduler.jobs.pause",
    "CloudScheduler.ResumeJob": "cloudscheduler.jobs.enable",
    "CloudScheduler.RunJob": "cloudscheduler.jobs.run",
    "Projects.GetProject": "resourcemanager.projects.get",
    "Projects.ListProjects": "resourcemanager.projects.list",
    "Projects.GetIamPolicy": "resourcemanager.projects.getIamPolicy",
    "Projects.SetIamPolicy": "resourcemanager.projects.setIamPolicy",
    "ServiceUsage.GetService": "serviceusage.services.get",
    "ServiceUsage.BatchGetServices": "serviceusage.services.get",
    "ServiceUsage.ListServices": "serviceusage.services.list",
    "ServiceUsage.EnableService": "serviceusage.services.enable",
    "ServiceUsage.BatchEnableServices": "serviceusage.services.enable",
    "ServiceUsage.DisableService": "serviceusage.services.disable",
    "ServiceUsage.ListConsumerQuotaMetrics": "serviceusage.quotas.get",
    "ServiceUsage.GetConsumerQuotaMetric": "serviceusage.quotas.get",
    "ServiceUsage.GetConsumerQuotaLimit": "serviceusage.quotas.get",
    "CloudQuotas.ListQuotaInfos": "cloudquotas.quotas.get",
    "CloudQuotas.GetQuotaInfo": "cloudquotas.quotas.get",
    "MetricService.ListTimeSeries": "monitoring.timeSeries.list",
    **{
        f"compute.{collection}.get": f"compute.{collection}.get"
        for collection in ("networkAttachments", "networks", "reservations", "subnetworks")
    },
    "IAMCredentials.SignBlob": "iam.serviceAccounts.signBlob",
    **{
        f"SecretManagerService.{method}": f"secretmanager.{permission}"
        for method, permission in (
            ("CreateSecret", "secrets.create"),
            ("GetSecret", "secrets.get"),
            ("ListSecrets", "secrets.list"),
            ("UpdateSecret", "secrets.update"),
            ("DeleteSecret", "secrets.delete"),
            ("GetIamPolicy", "secrets.getIamPolicy"),
            ("SetIamPolicy", "secrets.setIamPolicy"),
            ("AddSecretVersion", "versions.add"),
            ("GetSecretVersion", "versions.get"),
            ("ListSecretVersions", "versions.list"),
            ("AccessSecretVersion", "versions.access"),
            ("EnableSecretVersion", "versions.enable"),
            ("DisableSecretVersion", "versions.disable"),
            ("DestroySecretVersion", "versions.destroy"),
        )
    },
    "IAM.GetServiceAccount": "iam.serviceAccounts.get",
    "IAM.ListServiceAccounts": "iam.serviceAccounts.list",
    "IAM.CreateServiceAccount": "iam.serviceAccounts.create",
    "IAM.DeleteServiceAccount": "iam.serviceAccounts.delete",
    "IAM.EnableServiceAccount": "iam.serviceAccounts.enable",
    "IAM.DisableServiceAccount": "iam.serviceAccounts.disable",
    "IAM.GetIamPolicy": "iam.serviceAccounts.getIamPolicy",
    "IAM.SetIamPolicy": "iam.serviceAccounts.setIamPolicy",
}

PERMISSION_OF: Mapping[str, str] = dict(_table())
"""The permission that each method needs."""

PERMISSIONS = frozenset({*PERMISSION_OF.values(), "iam.serviceAccounts.actAs"})
"""The permissions that calls need; the last one is for a job with a service account of its own."""

_SERVICES: Mapping[str, str] = {
    **{service: "aiplatform" for service, _, _ in _VERTEX},
    "storage": "storage",
    "ArtifactRegistry": "artifactregistry",
    "registry": "artifactregistry",
    "LoggingServiceV2": "logging",
    "Projects": "cloudresourcemanager",
    "CloudScheduler": "cloudscheduler",
    "ServiceUsage": "serviceusage",
    "CloudQuotas": "cloudquotas",
    "MetricService": "monitoring",
    "IAM": "iam",
    "IAMCredentials": "iamcredentials",
    "SecretManagerService": "secretmanager",
    "compute": "compute",
}


def service_of(call: str) -> str | None:
    """Return the service of a method, such as aiplatform.googleapis.com, or None for a shared one."""
    name = _SERVICES.get(call.partition(".")[0])
    return None if name is None else f"{name}.googleapis.com"


def matching(pattern: str) -> list[str]:
    """Return the permissions that a pattern names and some call needs."""
    return sorted(each for each in PERMISSIONS if fnmatchcase(each, pattern))
