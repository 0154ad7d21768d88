"""The Cloud Billing catalog on a real port, with SKUs in the form of its REST API, in pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.scripted_service import Answer, Asked, refusal

TOKEN = "the-users-token"

AMERICAS = ("us-central1", "us-east1", "us-west1")
IOWA = ("us-central1",)
SINGAPORE = ("asia-southeast1",)


def sku(
    description: str,
    price: float,
    regions: Iterable[str],
    *,
    unit: str = "h",
    currency: str = "USD",
    free: bool = False,
) -> dict[str, Any]:
    """Return a SKU as the API has it; with `free`, a first tier costs nothing."""
    units, nanos = divmod(round(price * 1e9), 10**9)
    money = {"currencyCode": currency, "units": str(units), "nanos": nanos}
    rates = [{"startUsageAmount": 30 if free else 0, "unitPrice": money}]
    if free:
        rates.insert(
            0, {"startUsageAmount": 0, "unitPrice": {"currencyCode": currency, "units": "0", "nanos": 0}}
        )
    return {
        "name": f"services/S/skus/{len(description):04X}-0000-0000",
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": "OnDemand"},
        "serviceRegions": list(regions),
        "pricingInfo": [
            {
                "effectiveTime": "2026-11-23T09:12:41.206Z",
                "summary": "",
                "pricingExpression": {"usageUnit": unit, "displayQuantity": 1, "tieredRates": rates},
                "currencyConversionRate": 1,
            }
        ],
        "serviceProviderName": "Google",
    }


ON = "Vertex AI: Training/Pipelines on"
FEE = "Vertex AI: Training/Pipelines management fee on"

VERTEX_AI = (
    # Without the fee in the price, and the fee beside it: Singapore.
    sku(f"{ON} N1 Predefined Instance Core running in Singapore", 0.038999, SINGAPORE),
    sku(f"{ON} N1 Predefined Instance Ram running in Singapore", 0.005226, SINGAPORE, unit="GiBy.h"),
    sku(
        "Vertex AI: Training/Pipelines Management fee on N1 Instance Core in Singapore", 0.00584985, SINGAPORE
    ),
    sku(
        "Vertex AI: Training/Pipelines Management fee on N1 Instance RAM in Singapore",
        0.0007839,
        SINGAPORE,
        unit="GiBy.h",
    ),
    # With the fee in the price: Iowa.
    sku(f"{ON} NVIDIA H100 80GB in Iowa", 11.2660332, IOWA),
    sku(f"{FEE} NVIDIA H100 80GB in Iowa", 1.4694826, IOWA),
    sku(f"{ON} A3 Instance Core in Iowa", 0.0293227, IOWA),
    sku(f"{ON} A3 Instance RAM in Iowa", 0.0025534, IOWA, unit="GiBy.h"),
    sku(f"{ON} SSD backed PD Capacity", 0.1955, AMERICAS, unit="GiBy.mo"),
    # Other than 15 % above Compute Engine.
    sku(f"{ON} NVIDIA Tesla A100 in Iowa", 3.4, IOWA),
    # No business of training.
    sku(
        "Vertex AI: Online/Batch Prediction N1 Predefined Instance Core running in Singapore", 9.9, SINGAPORE
    ),
    sku("Gemini 3.8 Flash Global Text Input", 0.0001, ["global"], unit="count"),
)

COMPUTE_ENGINE = (
    sku("N1 Predefined Instance Core running in Singapore", 0.038999, SINGAPORE),
    sku("N1 Predefined Instance Ram running in Singapore", 0.005226, SINGAPORE, unit="GiBy.h"),
    sku("Spot Preemptible N1 Predefined Instance Core running in Singapore", 0.0066, SINGAPORE),
    sku("Spot Preemptible N1 Predefined Instance Ram running in Singapore", 0.0009, SINGAPORE, unit="GiBy.h"),
    sku("Nvidia H100 80GB GPU running in Americas", 9.79655057, AMERICAS),
    sku("Nvidia Tesla A100 GPU running in Americas", 2.933908, AMERICAS),
    sku("Nvidia Tesla T4 GPU running in Americas", 0.35, AMERICAS),
    sku("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas", 0.11, AMERICAS),
    sku("Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas", 4.200761, AMERICAS),
    sku("A3 Instance Core running in Americas", 0.02549795, AMERICAS),
    sku("A3 Instance Ram running in Americas", 0.00222035, AMERICAS, unit="GiBy.h"),
    sku("DWS Defined Duration A3 Core running in Americas", 0.010934, AMERICAS),
    sku("DWS Defined Duration A3 Ram running in Americas", 0.000952, AMERICAS, unit="GiBy.h"),
    sku("DWS Defined Duration SSD backed Local Storage running in Americas", 0.08, AMERICAS, unit="GiBy.mo"),
    sku("Compute optimized Core running in Americas", 0.03398, AMERICAS),
    sku("SSD backed PD Capacity", 0.17, AMERICAS, unit="GiBy.mo"),
    sku("Storage PD Capacity", 0.04, AMERICAS, unit="GiBy.mo", free=True),
    # None of these is a price of the table.
    sku("Commitment v1: Cpu in Singapore for 1 Year", 0.01, SINGAPORE),
    sku("Reserved A3 Instance Core running in Americas", 0.01, AMERICAS),
    sku("Spot Preemptible Custom Instance Core running in Singapore", 0.01, SINGAPORE),
    sku("N1 Predefined Instance Core running in Atlantis", 0.01, ["atlantis-west1"]),
    sku("E2 Instance Core running in Singapore", 0.02, SINGAPORE, currency="EUR"),
    sku("E2 Instance Ram running in Singapore", 0.02, SINGAPORE, unit="mo"),
    {"description": "E2 Instance Core running in Singapore", "serviceRegions": ["asia-southeast1"]},
)

_SERVICES = {"C7E2-9256-1C43": VERTEX_AI, "6F81-5844-456A": COMPUTE_ENGINE}
_PAGE = 5


def answer(asked: Asked) -> Answer:
    """Return a page of SKUs, as the API does for `services.skus.list`. Pages are short here."""
    if asked.headers.get("authorization") != f"Bearer {TOKEN}":
        return refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
    service = asked.path.removeprefix("/v1/services/").removesuffix("/skus")
    if service not in _SERVICES or asked.method != "GET":
        return refusal(404, "NOT_FOUND", "Requested entity was not found.")
    begin = int(asked.query.get("pageToken", ["0"])[0])
    skus = _SERVICES[service]
    following = str(begin + _PAGE) if begin + _PAGE < len(skus) else ""
    return Answer(document={"skus": list(skus[begin : begin + _PAGE]), "nextPageToken": following})
