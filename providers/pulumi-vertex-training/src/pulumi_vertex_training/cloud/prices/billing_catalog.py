"""Read the prices of Vertex AI and Compute Engine from Google's Cloud Billing catalog."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import NO_PROJECT, Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition
from pulumi_vertex_training.cloud.translation import translated
from vertex_training.cost.billing_skus import COMPUTE_ENGINE, VERTEX_AI, rows_of
from vertex_training.cost.prices import CURRENCY, Price

HOST = "cloudbilling.googleapis.com"
_OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING"
_TOKEN_FILE = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"  # noqa: S105
_PAGE_SIZE = 5000
_IF_DENIED = (
    "Enable the API in the project of your credentials: `gcloud services enable cloudbilling.googleapis.com`."
)


def endpoint(environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of the Cloud Billing catalog, with Application Default Credentials.

    As in gcloud, a variable leads to another address; only then the token of gcloud's file is used.
    Raises FailedPrecondition if that file cannot be read.
    """
    address = environment.get(_OVERRIDE, "").rstrip("/")
    if not address:
        return Endpoint(kind="google", project=NO_PROJECT, location="global")
    token = None
    if path := environment.get(_TOKEN_FILE):
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise FailedPrecondition(f"{_TOKEN_FILE} is {path}, which cannot be read: {error}.") from error
    return Endpoint(
        kind="google", project=NO_PROJECT, location="global", token=token, addresses=((HOST, address),)
    )


def read(catalog: Endpoint, *, date: str) -> tuple[Price, ...]:
    """Return the current prices. Raises the errors of `pulumi_vertex_training.cloud.errors`."""
    return tuple(rows_of(_skus(catalog, VERTEX_AI), _skus(catalog, COMPUTE_ENGINE), date=date))


def _skus(catalog: Endpoint, service: str) -> Iterator[dict[str, Any]]:
    url = f"{catalog.address_of(HOST)}/v1/services/{service}/skus"
    with translated(catalog, "read the Cloud Billing catalog", if_denied=_IF_DENIED):
        for page in rest.pages(catalog, url, query={"pageSize": _PAGE_SIZE, "currencyCode": CURRENCY}):
            skus = page.get("skus")
            if isinstance(skus, list):
                yield from (sku for sku in skus if isinstance(sku, dict))
