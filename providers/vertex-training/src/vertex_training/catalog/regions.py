"""The regions of training jobs, and the accelerators of each.

Source: Vertex AI documentation, "Locations for machine learning services", the table of accelerators without
the entries marked as not available for training, as of August 2026. To refresh: copy that table row by row
and leave out the entries with a dagger. Regions without accelerators are in the list "Available locations";
all of them offer custom training. There is no global location, and Google's page does not say which zones of
a region have an accelerator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

AS_OF = "2026-08"
SOURCE = 'Vertex AI documentation, "Locations for machine learning services"'

POD = " pod"
"""Suffix of TPU v2 and v3 pods, which not every region with these TPUs has."""

_NAMES = {
    "A100-40": "NVIDIA_TESLA_A100",
    "A100-80": "NVIDIA_A100_80GB",
    "B200": "NVIDIA_B200",
    "GB200": "NVIDIA_GB200",
    "H100": "NVIDIA_H100_80GB",
    "H100-MEGA": "NVIDIA_H100_MEGA_80GB",
    "H200": "NVIDIA_H200_141GB",
    "L4": "NVIDIA_L4",
    "P4": "NVIDIA_TESLA_P4",
    "P100": "NVIDIA_TESLA_P100",
    "RTX": "NVIDIA_RTX_PRO_6000",
    "T4": "NVIDIA_TESLA_T4",
    "V100": "NVIDIA_TESLA_V100",
    "TPU-V2": "TPU_V2",
    "TPU-V2-POD": "TPU_V2" + POD,
    "TPU-V3": "TPU_V3",
    "TPU-V3-POD": "TPU_V3" + POD,
    "TPU-V5E": "ct5lp",
    "TPU-V6E": "ct6e",
    "TPU7X": "tpu7x",
}
"""Short names of the page's entries, with the accelerator or the series of machines that a declaration names.
"""

_REGIONS = {
    "us-central1": "A100-40 A100-80 B200 GB200 H100 H100-MEGA H200 L4 P4 P100 RTX T4 V100"
    " TPU-V2 TPU-V2-POD TPU-V3 TPU-V5E TPU-V6E TPU7X",
    "us-east1": "A100-40 B200 L4 P100 RTX T4 V100 TPU-V5E TPU-V6E",
    "us-east4": "A100-80 B200 GB200 H100 H100-MEGA H200 L4 P4 RTX T4",
    "us-east5": "A100-80 H100 H100-MEGA H200 TPU-V6E",
    "us-south1": "B200 H200 TPU-V6E",
    "us-west1": "H100 H100-MEGA H200 L4 P100 T4 V100 TPU-V5E",
    "us-west2": "B200 P4 T4",
    "us-west3": "A100-40 B200",
    "us-west4": "A100-40 H100 H100-MEGA T4 TPU-V5E",
    "northamerica-northeast1": "P4 T4",
    "northamerica-northeast2": "H100 L4",
    "southamerica-east1": "T4",
    "southamerica-west1": "TPU-V6E",
    "africa-south1": "",
    "europe-central2": "T4",
    "europe-north1": "H100-MEGA",
    "europe-southwest1": "",
    "europe-west1": "H100-MEGA H200 P100 T4",
    "europe-west2": "L4 T4",
    "europe-west3": "H100 H100-MEGA T4",
    "europe-west4": "A100-40 A100-80 B200 H100 H100-MEGA H200 L4 P4 P100 RTX T4 V100"
    " TPU-V2 TPU-V2-POD TPU-V3 TPU-V3-POD TPU-V6E",
    "europe-west6": "",
    "europe-west8": "",
    "europe-west9": "",
    "europe-west12": "",
    "asia-east1": "H100-MEGA P100 T4 V100 TPU-V2",
    "asia-east2": "T4",
    "asia-northeast1": "B200 H100 H100-MEGA T4 TPU-V6E",
    "asia-northeast2": "",
    "asia-northeast3": "A100-40 H100 L4 T4",
    "asia-south1": "H100 H200 L4 T4",
    "asia-south2": "H200 RTX",
    "asia-southeast1": "A100-40 A100-80 B200 H100 H100-MEGA L4 P4 RTX T4",
    "asia-southeast2": "T4",
    "australia-southeast1": "H100-MEGA P4 T4",
    "australia-southeast2": "",
    "me-central1": "",
    "me-central2": "L4",
    "me-west1": "A100-40",
}

REGIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {region: frozenset(_NAMES[short] for short in row.split()) for region, row in _REGIONS.items()}
)
"""The accelerators of each region.

An entry is a name of `accelerators`, "TPU_V2 pod", "TPU_V3 pod" or a series of `machines.TPU_FAMILIES`.
"""


_REGION = re.compile(r"([a-z]+-[a-z]+)\d+")
_AREAS = frozenset(region.rstrip("0123456789") for region in REGIONS)


def is_misspelled(location: str) -> bool:
    """Return whether a location looks like a region, and is in no area that has one.

    A region that is newer than this list, such as us-west8, is in an area that is known.
    """
    match = _REGION.fullmatch(location.lower())
    return match is not None and match[1] not in _AREAS


def regions_with(accelerator: str) -> tuple[str, ...]:
    """Return the regions that offer an entry of the table, in its order."""
    return tuple(region for region, offered in REGIONS.items() if accelerator in offered)
