"""Every rule of a custom job, by name: what `docs/rules.md` lists, and where a finding gets its document
from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from vertex_training.specs import (
    custom_job_rules,
    network_rules,
    reduction,
    region_of_bucket,
    scheduling_rules,
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

_MODULES: tuple[ModuleType, ...] = (
    validation,
    tasks,
    machine_rules,
    reservation_rules,
    region_rules,
    reduction_servers,
    reduction,
    frameworks,
    custom_job_rules,
    scheduling_rules,
    network_rules,
    region_of_bucket,
    resource_pools,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {value.name: value for module in _MODULES for value in vars(module).values() if isinstance(value, Rule)}
)


def source_of(name: str) -> str:
    """The document that has the rule; "" for a name that is none."""
    rule = RULES.get(name)
    return rule.source if rule else ""


def as_markdown() -> str:
    """The table of all rules, for `docs/rules.md`."""
    rows = [f"| `{rule.name}` | {rule.level} | {rule.says} | {rule.source} |" for rule in RULES.values()]
    return "\n".join(["| rule | level | says | source |", "| --- | --- | --- | --- |", *rows]) + "\n"
