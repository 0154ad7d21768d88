"""All rules by name, for `docs/reference/rules.md` and for the source of a finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType

from pulumi_vertex_training.cli.explain import documents, explanation
from pulumi_vertex_training.kinds.custom_job.forms import gcloud as gcloud_custom_jobs
from pulumi_vertex_training.kinds.custom_job.forms import role_pools
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import gcloud_flags, remarks
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import rules as ai_platform_rules
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tuning as tuning_of_ai_platform
from pulumi_vertex_training.kinds.image_repository import rules as image_repository_rules
from pulumi_vertex_training.kinds.model import explanation_rules, serving_rules
from pulumi_vertex_training.kinds.model import rules as model_rules
from pulumi_vertex_training.kinds.persistent_resource import fit_rules as persistent_resource_rules
from pulumi_vertex_training.kinds.persistent_resource import rules as persistent_resource_checks
from pulumi_vertex_training.kinds.staging_bucket import lifecycle_rules as bucket_lifecycle_rules
from pulumi_vertex_training.kinds.staging_bucket import rules as bucket_rules
from pulumi_vertex_training.kinds.training_image import spec as training_image
from pulumi_vertex_training.kinds.training_pipeline import input_data_rules
from pulumi_vertex_training.kinds.training_pipeline import rules as training_pipeline_rules
from pulumi_vertex_training.kinds.training_schedule import rules as training_schedule_rules
from vertex_training.findings.rules import Rule
from vertex_training.job import auto_replicas, stall_timeout
from vertex_training.job.rules import envelope as envelope_rules
from vertex_training.job.rules import job_spec as job_spec_rules
from vertex_training.job.rules import ladder as ladder_rules
from vertex_training.job.rules import networking as network_rules
from vertex_training.job.rules import scheduling as scheduling_rules
from vertex_training.study.rules import choices
from vertex_training.study.rules import parameters as parameter_rules
from vertex_training.study.rules import stopping as study_stopping_rules
from vertex_training.study.rules import study as study_rules
from vertex_training.study.rules import tuning as tuning_rules
from vertex_training.study.rules import values as parameter_value_rules
from vertex_training.topology import variables
from vertex_training.topology.rules import (
    frameworks,
    reduction_servers,
    resource_pool_rules,
    resource_pools,
    tasks,
)
from vertex_training.topology.rules import images as image_rules
from vertex_training.topology.rules import machines as machine_rules
from vertex_training.topology.rules import pools as validation
from vertex_training.topology.rules import regions as region_rules
from vertex_training.topology.rules import reservations as reservation_rules

_MODULES: Mapping[str, tuple[ModuleType, ...]] = {
    "Worker pools": (validation,),
    "Tasks": (tasks, image_rules, variables, stall_timeout),
    "Machines, accelerators and disks": (machine_rules,),
    "Reservations": (reservation_rules,),
    "Regions": (region_rules,),
    "Reduction servers": (reduction_servers, auto_replicas),
    "Frameworks": (frameworks,),
    "The job": (envelope_rules, job_spec_rules),
    "Scheduling": (scheduling_rules,),
    "Capacity": (ladder_rules,),
    "Network and mounts": (network_rules,),
    "Tuning jobs": (tuning_rules,),
    "Studies": (study_rules, choices),
    "Parameters of a study": (parameter_rules, parameter_value_rules),
    "The end of a study": (study_stopping_rules,),
    "Training pipelines": (training_pipeline_rules,),
    "Input data of pipelines": (input_data_rules,),
    "Models": (model_rules, serving_rules, explanation_rules),
    "Staging buckets": (bucket_rules,),
    "Lifecycle rules of buckets": (bucket_lifecycle_rules,),
    "Persistent resources": (resource_pool_rules, persistent_resource_checks),
    "Jobs on persistent resources": (resource_pools, persistent_resource_rules),
    "Repositories for images": (image_repository_rules,),
    "Training images": (training_image,),
    "Schedules": (training_schedule_rules,),
    "Documents and roles": (documents, role_pools),
    "Legacy AI Platform": (ai_platform_rules, remarks),
    "Tuning jobs of legacy AI Platform": (tuning_of_ai_platform,),
    "The command gcloud ai-platform": (gcloud_flags,),
    "The command gcloud ai custom-jobs": (gcloud_custom_jobs,),
}


def _declared(modules: Iterable[ModuleType]) -> tuple[Rule, ...]:
    """Return the rules that modules declare as constants, in their order."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Rule))


TOPICS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {topic: _declared(modules) for topic, modules in _MODULES.items()}
)
"""Rules by their heading in `docs/reference/rules.md`."""


def by_name(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    """Return the rules by name. Raises ValueError if two rules have the same name."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in found:
            raise ValueError(
                f"two rules have the name {rule.name!r}: {found[rule.name].says!r} and {rule.says!r}"
            )
        found[rule.name] = rule
    return MappingProxyType(found)


RULES: Mapping[str, Rule] = by_name(rule for rules in TOPICS.values() for rule in rules)


_LIMITS = by_name(explanation.RULES)


def source_of(name: str) -> str:
    """Return the source of a rule or of a limit of `explain`, "" for an unknown name."""
    rule = RULES.get(name) or _LIMITS.get(name)
    return rule.source if rule else ""
