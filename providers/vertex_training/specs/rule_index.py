"""Every rule of a training job, by name: what `docs/rules.md` lists, and where a finding gets its document
from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType

from vertex_training.specs import (
    custom_job_rules,
    documents,
    gcloud_flags,
    network_rules,
    reduction,
    region_of_bucket,
    role_pools,
    scheduling_rules,
    training_input_remarks,
    training_input_rules,
)
from vertex_training.topology import (
    frameworks,
    machine_rules,
    reduction_servers,
    region_rules,
    reservation_rules,
    resource_pools,
    tasks,
    validation,
)
from vertex_training.topology.rules import Rule

_MODULES: Mapping[str, tuple[ModuleType, ...]] = {
    "Worker pools": (validation,),
    "Tasks": (tasks,),
    "Machines, accelerators and disks": (machine_rules,),
    "Reservations": (reservation_rules,),
    "Regions": (region_rules, region_of_bucket),
    "Reduction servers": (reduction_servers, reduction),
    "Frameworks": (frameworks,),
    "The job": (custom_job_rules,),
    "Scheduling": (scheduling_rules,),
    "Network and mounts": (network_rules,),
    "Persistent resources": (resource_pools,),
    "Documents and roles": (documents, role_pools),
    "Legacy AI Platform": (training_input_rules, training_input_remarks),
    "The command gcloud ai-platform": (gcloud_flags,),
}


def _declared(modules: Iterable[ModuleType]) -> tuple[Rule, ...]:
    """The rules that modules declare as constants, in their order."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Rule))


TOPICS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {topic: _declared(modules) for topic, modules in _MODULES.items()}
)
"""The rules under the heading that each has in `docs/rules.md`."""


def by_name(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """The rules by name. Raises ValueError for two rules of one name: a finding could not say which it is."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in found:
            raise ValueError(
                f"two rules have the name {rule.name!r}: {found[rule.name].says!r} and {rule.says!r}"
            )
        found[rule.name] = rule
    return MappingProxyType(found)


RULES: Mapping[str, Rule] = by_name(rule for rules in TOPICS.values() for rule in rules)


def source_of(name: str) -> str:
    """The document that has the rule; "" for a name that is none."""
    rule = RULES.get(name)
    return rule.source if rule else ""
