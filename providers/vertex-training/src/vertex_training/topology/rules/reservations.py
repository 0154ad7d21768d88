"""The rules of reserved capacity: how reservations are named, and which machines need one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_training.catalog import enumerations
from vertex_training.catalog.machines import machine
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.topology.pools import MachineSpec, ReservationAffinity

KEY = "compute.googleapis.com/reservation-name"
"""The only reservation key that the API accepts."""

_RESERVATIONS = 'Vertex AI documentation, "Use reservations with training"'
_COMPUTE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

RESERVATION_TYPE = Rule(
    name="reservation-type",
    says="a reservation affinity has a type",
    source="Vertex AI API, ReservationAffinity.reservation_affinity_type",
)
RESERVATION_NAME = Rule(
    name="reservation-name",
    says="SPECIFIC_RESERVATION, and no other type, names its reservations by key and values",
    source=_RESERVATIONS,
)
RESERVATION_NEEDED = Rule(
    name="reservation-needed",
    says="a machine that is only available from shared reservations has a reservation affinity",
    source=_COMPUTE + ", GPUs",
)
RESERVATION_REGION = Rule(
    name="reservation-region",
    says="a reservation is in the region of the job",
    source="ours: a reservation is of one zone, and a job runs in one region",
)
_RESERVATION = re.compile(
    r"projects/[^/\s]+/zones/([^/\s]+)/reservations/[^/\s]+(/reservationBlocks/[^/\s]+)?"
)


def reservation_problems(spec: MachineSpec, path: str, options: CheckOptions) -> Iterator[Problem]:
    """Yield every finding about the reservation affinity of a machine; `path` leads to the machine."""
    if spec.reservation_affinity is not None:
        yield from _affinity_problems(spec.reservation_affinity, f"{path}.reservation_affinity", options)
    yield from _need_problems(spec, path)


def _affinity_problems(affinity: ReservationAffinity, path: str, options: CheckOptions) -> Iterator[Problem]:
    kind = affinity.reservation_affinity_type
    below = f"{path}.reservation_affinity_type"
    if kind not in enumerations.RESERVATION_NAMES:
        hint = (
            nearest(kind, enumerations.RESERVATION_NAMES) or f"use {one_of(enumerations.RESERVATION_NAMES)}"
        )
        yield RESERVATION_TYPE.broken(below, f"{shown(kind)} is not a type of reservation affinity; {hint}")
    elif kind != enumerations.SPECIFIC_RESERVATION:
        for name, value in (("key", affinity.key), ("values", affinity.values)):
            if value:
                yield RESERVATION_NAME.broken(
                    f"{path}.{name}",
                    f"is not allowed with the type {kind}; leave it out, or use "
                    f"{enumerations.SPECIFIC_RESERVATION}",
                    rests_on=(below, f"{path}.{name}"),
                )
    else:
        yield from _specific_reservation_problems(affinity, path, options)


def _specific_reservation_problems(
    affinity: ReservationAffinity, path: str, options: CheckOptions
) -> Iterator[Problem]:
    kind = f"{path}.reservation_affinity_type"
    if affinity.key != KEY:
        given = f"{shown(affinity.key)} is not a reservation key" if affinity.key else "is missing"
        yield RESERVATION_NAME.broken(
            f"{path}.key",
            f"{given}; {enumerations.SPECIFIC_RESERVATION} needs the key {KEY}",
            rests_on=(kind, f"{path}.key"),
        )
    form = "projects/PROJECT/zones/ZONE/reservations/NAME"
    if not affinity.values:
        yield RESERVATION_NAME.broken(
            f"{path}.values",
            f"is missing; {enumerations.SPECIFIC_RESERVATION} names its reservations, each as {form}",
            rests_on=(kind, f"{path}.values"),
        )
    for i, value in enumerate(affinity.values):
        below, match = f"{path}.values[{i}]", _RESERVATION.fullmatch(value)
        if match is None:
            yield RESERVATION_NAME.broken(
                below, f"{shown(value)} is not a reservation; write {form}", rests_on=(kind, below)
            )
        elif options.location and not match[1].startswith(f"{options.location}-"):
            yield RESERVATION_REGION.broken(
                below,
                f"is in zone {shown(match[1])}, the job runs in {options.location}; name a reservation in "
                "one of its zones",
                rests_on=(kind, below, "location"),
            )


def _need_problems(spec: MachineSpec, path: str) -> Iterator[Problem]:
    known = machine(spec.machine_type)
    if known is None or known.reservation != "required":
        return
    affinity = spec.reservation_affinity
    if affinity is None or affinity.reservation_affinity_type in (
        "NO_RESERVATION",
        enumerations.RESERVATION_UNSPECIFIED,
    ):
        below = f"{path}.reservation_affinity"
        given = "is missing" if affinity is None else affinity.reservation_affinity_type
        yield RESERVATION_NEEDED.broken(
            below,
            f"{given}; {known.name} is only available from shared reservations: give "
            f"{enumerations.SPECIFIC_RESERVATION} with its name, or ANY_RESERVATION",
            rests_on=(f"{path}.machine_type", below),
        )
