"""The rules of regions: whether a region exists, and has the accelerators of the pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vertex_training.catalog import accelerators
from vertex_training.catalog.accelerators import is_gpu
from vertex_training.catalog.machines import CLOUD_TPU, POD_CORES, TPU_FAMILIES, series
from vertex_training.catalog.regions import POD, REGIONS, is_misspelled, regions_with
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Level, Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, or_newer, shown
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

_LOCATIONS = 'Vertex AI documentation, "Locations for machine learning services"'
_SHOWN_REGIONS = 5

REGION = Rule(name="region", says="the location is a region of Vertex AI", source=_LOCATIONS)
REGION_ACCELERATOR = Rule(
    name="region-accelerator",
    says="the region has the accelerator for training",
    source=_LOCATIONS + ", Using accelerators",
)
ONE_ZONE = Rule(
    name="one-zone",
    says="all types of GPUs in a job are available in a single zone of its region",
    source=_LOCATIONS + ", Using accelerators",
    level="warning",
)


def region_problems(pools: Sequence[WorkerPoolSpec], path: str, options: CheckOptions) -> Iterator[Problem]:
    """Yield every finding about the job's location; none if the location is not known.

    The path of a location that does not exist is "location", next to the pools.
    """
    if options.location is None:
        return
    level: Level = "warning" if options.allow_unknown_types else "error"
    if options.location in REGIONS:
        for position, pool in enumerate(pools):
            if not pool.is_empty and pool.machine_spec is not None:
                below = f"{path}[{position}].machine_spec"
                yield from _offer_problems(pool.machine_spec, below, options.location, level)
    else:
        yield REGION.broken(
            "location",
            f"{shown(options.location)} is not a region of Vertex AI; {_region_hint(options)}",
            rests_on=("location",),
            level=level,
        )
    yield from _zone_problems(pools, path, options.location)


def _region_hint(options: CheckOptions) -> str:
    location = options.location or ""
    region = location.rpartition("-")[0]
    if region in REGIONS:
        return f"it is a zone: write its region, {region}"
    hint = nearest(location, REGIONS) or "one is written like us-central1"
    return hint if options.allow_unknown_types else or_newer(hint)


def _offer_problems(machine: MachineSpec, path: str, location: str, level: Level) -> Iterator[Problem]:
    wanted = _offer(machine)
    if wanted is None or wanted in REGIONS[location]:
        return
    having = regions_with(wanted)
    if not having:
        return
    family = wanted in TPU_FAMILIES
    yield REGION_ACCELERATOR.broken(
        f"{path}.{'machine_type' if family else 'accelerator_type'}",
        f"{_name(wanted)} is not offered for training in {location}; it is in {_nearby(having, location)}",
        rests_on=(
            "location",
            f"{path}.machine_type",
            *(() if family else (f"{path}.accelerator_type",)),
            *((f"{path}.accelerator_count",) if wanted.startswith("TPU_") else ()),
        ),
        level=level,
    )


def _offer(machine: MachineSpec) -> str | None:
    """Return the entry of a machine's accelerator in the table of regions, or None."""
    family, kind = series(machine.machine_type), machine.accelerator_type
    if family in TPU_FAMILIES:
        return family
    if kind is None or kind not in accelerators.NAMES:
        return None
    if machine.machine_type == CLOUD_TPU and machine.accelerator_count >= POD_CORES:
        return kind + POD
    return kind


def _name(wanted: str) -> str:
    return f"{TPU_FAMILIES[wanted]} ({wanted})" if wanted in TPU_FAMILIES else wanted


def _nearby(regions: Sequence[str], location: str) -> str:
    """List the regions, the same continent's first, at most a few."""
    continent = location.partition("-")[0]
    ordered = sorted(regions, key=lambda region: not region.startswith(f"{continent}-"))
    if len(ordered) <= _SHOWN_REGIONS:
        return one_of(ordered)
    return f"{', '.join(ordered[:_SHOWN_REGIONS])} and {len(ordered) - _SHOWN_REGIONS} more"


def _zone_problems(pools: Sequence[WorkerPoolSpec], path: str, location: str) -> Iterator[Problem]:
    kinds: dict[str, list[str]] = {}
    for position, pool in enumerate(pools):
        kind = pool.machine_spec.accelerator_type if pool.machine_spec is not None else None
        if kind is not None and not pool.is_empty and is_gpu(kind) and kind in accelerators.NAMES:
            kinds.setdefault(kind, []).append(f"{path}[{position}].machine_spec.accelerator_type")
    if len(kinds) > 1:
        yield ONE_ZONE.broken(
            path,
            f"the job has {all_of(kinds)}, which must all be available in a single zone of {location}; "
            "use one type of GPU if possible",
            rests_on=("location", *(each for paths in kinds.values() for each in paths)),
        )


BUCKET_REGION = Rule(
    name="bucket-region",
    says="a job's bucket is in the job's region",
    source='Vertex AI documentation, "Locations"; the service\'s own error text',
)


def bucket_region_problems(
    bucket: str | None, *, bucket_location: str | None, location: str | None, path: str = "staging_bucket"
) -> Iterator[Problem]:
    """Yield a finding if the bucket is not in the job's location, in upper or lower case.

    A misspelled location has a finding of its own, and says nothing about the other one.
    """
    if not bucket_location or not location or bucket_location.lower() == location.lower():
        return
    if is_misspelled(bucket_location) or is_misspelled(location):
        return
    other = f", or run the job in {bucket_location.lower()}" if "-" in bucket_location else ""
    yield BUCKET_REGION.broken(
        path,
        f"{bucket!r} is in {bucket_location.lower()!r}, the job runs in {location!r}; Vertex AI requires one "
        f"region for both. Create the bucket with location={location!r}{other}",
        rests_on=(path, f"{path}_location", "location"),
    )
