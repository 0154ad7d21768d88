"""Cloud Quotas: the quotas of custom training as `QuotaInfo`.

A quota has one entry for each region with a limit of its own, and one without `dimensions` for all other
regions. As in Google's APIs, -1 is no limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.paging import Sizes, Wanted
from vertex_emulator.services.quotas import metrics
from vertex_emulator.services.quotas.limits import ANY_REGION, Quotas
from vertex_training.catalog import quota_metrics
from vertex_training.catalog.regions import REGIONS

_PACKAGE = "google.api.cloudquotas.v1"
_PARENT = re.compile(r"projects/([^/]+)/locations/([^/]+)/services/([^/]+)")
_PAGE = Sizes(default=1000, most=1000)
_PER_PROJECT = 1
"""QuotaInfo.ContainerType.PROJECT."""


class CloudQuotas:
    """The methods that read quotas. Preferences, which request a change, are not implemented."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        return {
            f"{descriptors.CLOUD_QUOTAS}.ListQuotaInfos": self.list,
            f"{descriptors.CLOUD_QUOTAS}.GetQuotaInfo": self.get,
        }

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ListQuotaInfos, by metric. Only Vertex AI has quotas here."""
        names = metrics.all_metrics() if _service(request.parent) == metrics.SERVICE else ()
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = wanted.page(names, query=request.parent)
        answer = descriptors.message(f"{_PACKAGE}.ListQuotaInfosResponse")
        answer.quota_infos.extend(self._info(request.parent, name) for name in page.items)
        answer.next_page_token = page.next_page_token
        return answer

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Answer GetQuotaInfo."""
        parent, _, wanted = request.name.partition("/quotaInfos/")
        service = _service(parent)
        for name in metrics.all_metrics() if service == metrics.SERVICE else ():
            if metrics.quota_id(name) == wanted:
                return self._info(parent, name)
        raise RpcError("NOT_FOUND", f"The quota {request.name} was not found.")

    def _info(self, parent: str, metric: str) -> DynamicMessage:
        info = descriptors.message(f"{_PACKAGE}.QuotaInfo")
        info.quota_id = metrics.quota_id(metric)
        info.name = f"{parent}/quotaInfos/{info.quota_id}"
        info.metric = f"{quota_metrics.PREFIX}{metric}"
        info.service = metrics.SERVICE
        info.is_precise = True
        info.container_type = _PER_PROJECT
        info.dimensions.append("region")
        info.metric_display_name = metrics.display_name(metric)
        info.quota_display_name = f"{info.metric_display_name} per project per region"
        info.metric_unit = "1"
        own = self._quotas.own_regions(metric)
        for region in own:
            self._add(info, metric, region, {"region": region}, [region])
        self._add(info, metric, ANY_REGION, {}, sorted(set(REGIONS) - set(own)))
        return info

    def _add(
        self,
        info: DynamicMessage,
        metric: str,
        region: str,
        dimensions: Mapping[str, str],
        locations: Sequence[str],
    ) -> None:
        entry = info.dimensions_infos.add()
        entry.dimensions.update(dimensions)
        entry.details.value = self._quotas.limit(metric, region)
        entry.applicable_locations.extend(locations)


def _service(parent: str) -> str:
    """Return the service of a parent. Raises `RpcError` for a parent that is not in a project."""
    match = _PARENT.fullmatch(parent)
    if match is None:
        raise RpcError("UNIMPLEMENTED", f"The emulator has quotas of projects only, not of {parent!r}.")
    if match[2] != "global":
        raise RpcError("INVALID_ARGUMENT", f"The location of quotas is global, not {match[2]}.")
    return match[3]
