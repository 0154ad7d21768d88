"""Every rule of a training job, by name: what `docs/rules.md` lists, and where a finding gets its document
from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType

from pulumi_vertex_training.cli.explain import documents, replica_limits
from pulumi_vertex_training.kinds.custom_job.forms import gcloud as gcloud_custom_jobs
from pulumi_vertex_training.kinds.custom_job.forms import role_pools
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import gcloud_flags, remarks
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import rules as ai_platform_rules
from pulumi_vertex_training.kinds.image_repository import rules as image_repository_rules
from pulumi_vertex_training.kinds.model import explanation_rules, serving_rules
from pulumi_vertex_training.kinds.model import rules as model_rules
from pulumi_vertex_training.kinds.persistent_resource import fit_rules as persistent_resource_rules
from pulumi_vertex_training.kinds.persistent_resource import rules as persistent_resource_checks
from pulumi_vertex_training.kinds.staging_bucket import access_rules as bucket_access_rules
from pulumi_vertex_training.kinds.staging_bucket import lifecycle_rules as bucket_lifecycle_rules
from pulumi_vertex_training.kinds.staging_bucket import rules as bucket_rules
from pulumi_vertex_training.kinds.training_image import spec as training_image
from pulumi_vertex_training.kinds.training_pipeline import input_data_rules
from pulumi_vertex_training.kinds.training_pipeline import rules as training_pipeline_rules
from vertex_training.findings.rules import Rule
from vertex_training.job import auto_replicas
from vertex_training.job.rules import envelope as envelope_rules
from vertex_training.job.rules import job_spec as job_spec_rules
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
    "Tasks": (tasks, image_rules, variables),
    "Machines, accelerators and disks": (machine_rules,),
    "Reservations": (reservation_rules,),
    "Regions": (region_rules,),
    "Reduction servers": (reduction_servers, auto_replicas),
    "Frameworks": (frameworks,),
    "The job": (envelope_rules, job_spec_rules),
    "Scheduling": (scheduling_rules,),
    "Network and mounts": (network_rules,),
    "Tuning jobs": (tuning_rules,),
    "Studies": (study_rules, choices),
    "Parameters of a study": (parameter_rules, parameter_value_rules),
    "The end of a study": (study_stopping_rules,),
    "Training pipelines": (training_pipeline_rules,),
    "Input data of pipelines": (input_data_rules,),
    "Models": (model_rules, serving_rules, explanation_rules),
    "Staging buckets": (bucket_rules, bucket_access_rules),
    "Lifecycle rules of buckets": (bucket_lifecycle_rules,),
    "Persistent resources": (resource_pool_rules, persistent_resource_checks),
    "Jobs on persistent resources": (resource_pools, persistent_resource_rules),
    "Repositories for images": (image_repository_rules,),
    "Training images": (training_image,),
    "Documents and roles": (documents, role_pools),
    "Legacy AI Platform": (ai_platform_rules, remarks),
    "The command gcloud ai-platform": (gcloud_flags,),
    "The command gcloud ai custom-jobs": (gcloud_custom_jobs,),
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


_LIMITS = by_name(replica_limits.RULES)


def source_of(name: str) -> str:
    """The document that has the rule, or one of the limits of `explain`; "" for a name that is none."""
    rule = RULES.get(name) or _LIMITS.get(name)
    return rule.source if rule else ""


_INTRODUCTION = """# Rules

This page is made from the code: `python -m pytest
tests/pulumi_vertex_training/cli/explain/test_every_rule.py --record` writes it.

A rule is one thing that the declaration of a training job, or of a bucket, has to keep. What breaks it is a
finding: the path of the value, the value, what is wrong with it, and what to do. A preview checks all rules
before anything is sent to Google Cloud. `vertex-training explain FILE` shows every finding about the job in a
file, each with the document that its rule comes from; `--json` has the name of the rule as well.

An **error** is what the service would refuse, or what cannot work: the job is not submitted. A **warning** is
what the service accepts and you may regret. Some rules have the other level at times: a switch, a declared
framework or the value itself decides. A source that begins with "ours" is no document of Google's, but the
reason for the rule.

What the checks are told beside the declaration:

| in a program | `explain`, `diff` | effect |
| --- | --- | --- |
| `location` | `--location` | the job's region; without one the rules of regions are passed over |
| `framework` | `--framework` | checks what that framework needs, and turns some advice into errors |
| `allow_unknown_types` | `--allow-unknown-types` | a name that the tables do not have is a warning only |
| `allow_legacy_types` | `--allow-legacy-types` | names that Google has retired are accepted |
"""


def as_markdown() -> str:
    """The page `docs/rules.md`: what a rule is, and a table for each topic."""
    return "\n".join([_INTRODUCTION, *(_section(topic, rules) for topic, rules in TOPICS.items())])


def _section(topic: str, rules: Iterable[Rule]) -> str:
    rows = [f"| `{rule.name}` | {rule.level} | {_cell(rule.says)} | {_cell(rule.source)} |" for rule in rules]
    return "\n".join(
        [f"## {topic}", "", "| rule | level | says | source |", "| --- | --- | --- | --- |", *rows, ""]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
