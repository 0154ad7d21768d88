"""Service Usage's older form of quotas: v1beta1 `consumerQuotaMetrics`.

The default bucket comes first, then those of regions: of regions with a limit of their own, or in the view
FULL of all regions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.paging import Sizes, Wanted
from vertex_emulator.services.quotas import metrics
from vertex_emulator.services.quotas.limits import ANY_REGION, UNLIMITED, Quotas
from vertex_training.catalog import quota_metrics
from vertex_training.catalog.regions import REGIONS

_PACKAGE = "google.api.serviceusage.v1beta1"
_PARENT = re.compile(r"projects/([^/]+)/services/([^/]+)")
_METRIC = re.compile(r"(projects/[^/]+/services/[^/]+)/consumerQuotaMetrics/([^/]+)")
_LIMIT = "/limits/%2Fproject%2Fregion"
_UNIT = "1/{project}/{region}"
_FULL = 2
_PAGE = Sizes(default=1000, most=1000)


class ConsumerQuotas:
    """The methods that read quotas. Overrides, which change them, are not implemented."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        service = descriptors.SERVICE_USAGE_BETA
        return {
            f"{service}.ListConsumerQuotaMetrics": self.list,
            f"{service}.GetConsumerQuotaMetric": self.get,
            f"{service}.GetConsumerQuotaLimit": self.get_limit,
        }

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ListConsumerQuotaMetrics, by metric. Only Vertex AI has quotas here."""
        match = _PARENT.fullmatch(request.parent)
        if match is None:
            raise RpcError("UNIMPLEMENTED", f"The emulator has quotas of projects only: {request.parent!r}.")
        names = metrics.all_metrics() if match[2] == metrics.SERVICE else ()
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = wanted.page(names, query=request.parent)
        answer = descriptors.message(f"{_PACKAGE}.ListConsumerQuotaMetricsResponse")
        answer.metrics.extend(self._metric(request.parent, name, request.view) for name in page.items)
        answer.next_page_token = page.next_page_token
        return answer

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Answer GetConsumerQuotaMetric."""
        return self._find(request.name, request.view)

    def get_limit(self, request: DynamicMessage) -> DynamicMessage:
        """Answer GetConsumerQuotaLimit. Each metric has one limit, per project and region."""
        name, _, limit = request.name.partition("/limits/")
        if f"/limits/{limit}" != _LIMIT:
            raise RpcError("NOT_FOUND", f"The quota limit {request.name} was not found.")
        limits: Sequence[DynamicMessage] = self._find(name, request.view).consumer_quota_limits
        return limits[0]

    def _find(self, name: str, view: int) -> DynamicMessage:
        match = _METRIC.fullmatch(name)
        wanted = "" if match is None else match[2].replace("%2F", "/").removeprefix(quota_metrics.PREFIX)
        if match is None or wanted not in metrics.all_metrics():
            raise RpcError("NOT_FOUND", f"The quota metric {name} was not found.")
        return self._metric(match[1], wanted, view)

    def _metric(self, parent: str, metric: str, view: int) -> DynamicMessage:
        project, _, service = parent.removeprefix("projects/").partition("/services/")
        full = f"{quota_metrics.PREFIX}{metric}"
        found = descriptors.message(f"{_PACKAGE}.ConsumerQuotaMetric")
        found.name = (
            f"projects/{project_number(project)}/services/{service}/consumerQuotaMetrics/"
            f"{full.replace('/', '%2F')}"
        )
        found.metric, found.unit = full, "1"
        found.display_name = metrics.display_name(metric)
        limit = found.consumer_quota_limits.add()
        limit.name, limit.metric, limit.unit = f"{found.name}{_LIMIT}", full, _UNIT
        limit.is_precise = True
        limit.supported_locations.extend(sorted(REGIONS))
        regions = sorted(REGIONS) if view == _FULL else self._quotas.own_regions(metric)
        for region in (ANY_REGION, *regions):
            bucket = limit.quota_buckets.add()
            bucket.effective_limit = self._quotas.limit(metric, region)
            bucket.default_limit = UNLIMITED
            if region != ANY_REGION:
                bucket.dimensions["region"] = region
        return found
