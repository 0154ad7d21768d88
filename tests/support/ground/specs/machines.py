"""Machines and their findings."""

from __future__ import annotations

from vertex_training.findings.options import CheckOptions
from vertex_training.topology.pools import MachineSpec, ReservationAffinity
from vertex_training.topology.rules.machines import machine_problems

PLAIN = CheckOptions()

RESERVATION = "projects/p/zones/us-central1-a/reservations/r"
KEY = "compute.googleapis.com/reservation-name"


def machine(machine_type="n1-standard-4", kind=None, count=0, **other):
    return MachineSpec(machine_type=machine_type, accelerator_type=kind, accelerator_count=count, **other)


def affinity(kind, key=None, *values):
    return ReservationAffinity(reservation_affinity_type=kind, key=key, values=values)


def reserved(kind, key=None, *values):
    return machine(reservation_affinity=affinity(kind, key, *values))


def found(spec, options=PLAIN):
    return list(machine_problems(spec, "m", options))
