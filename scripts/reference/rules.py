"""The pages of the rules: what each rule says, and the finding about a declaration that breaks it.

The declarations are the cases of the test that breaks every rule once, so a finding is always a real one.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pulumi_vertex_training.cli.explain import explanation, rule_index
from scripts.arguments.catalog import RESOURCES, ROOT
from scripts.arguments.messages import fields_of
from scripts.reference.markdown import HEADER, REFERENCE, code, filled, relative, table
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

PAGE = REFERENCE / "rules.md"
_CASES = ROOT / "tests" / "pulumi_vertex_training" / "cli" / "explain" / "test_every_rule.py"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A page of rules: its file, its title, the resource whose arguments they are about, and its topics."""

    file: str
    title: str
    resource: str
    topics: tuple[str, ...]

    @property
    def page(self) -> Path:
        return REFERENCE / "rules" / f"{self.file}.md"


KINDS = (
    Kind(
        file="jobs",
        title="Rules of jobs",
        resource="CustomJob",
        topics=(
            *("Worker pools", "Tasks", "Reduction servers", "Frameworks"),
            *("The job", "Scheduling", "Capacity", "Network and mounts"),
        ),
    ),
    Kind(
        file="machines",
        title="Rules of machines",
        resource="CustomJob",
        topics=("Machines, accelerators and disks", "Reservations", "Regions"),
    ),
    Kind(
        file="tuning-jobs",
        title="Rules of tuning jobs",
        resource="HyperparameterTuningJob",
        topics=("Tuning jobs", "Studies", "Parameters of a study", "The end of a study"),
    ),
    Kind(
        file="pipelines",
        title="Rules of training pipelines",
        resource="TrainingPipeline",
        topics=("Training pipelines", "Input data of pipelines"),
    ),
    Kind(file="models", title="Rules of models", resource="TrainingPipeline", topics=("Models",)),
    Kind(
        file="buckets",
        title="Rules of buckets",
        resource="StagingBucket",
        topics=("Staging buckets", "Lifecycle rules of buckets"),
    ),
    Kind(
        file="persistent-resources",
        title="Rules of persistent resources",
        resource="PersistentResource",
        topics=("Persistent resources",),
    ),
    Kind(
        file="jobs-on-persistent-resources",
        title="Rules of jobs on persistent resources",
        resource="CustomJob",
        topics=("Jobs on persistent resources",),
    ),
    Kind(
        file="repositories",
        title="Rules of repositories",
        resource="ImageRepository",
        topics=("Repositories for images",),
    ),
    Kind(file="images", title="Rules of images", resource="TrainingImage", topics=("Training images",)),
    Kind(file="schedules", title="Rules of schedules", resource="TrainingSchedule", topics=("Schedules",)),
    Kind(
        file="files",
        title="Rules of files",
        resource="",
        topics=("Documents and roles", "The command gcloud ai custom-jobs"),
    ),
    Kind(
        file="ai-platform",
        title="Rules of legacy AI Platform",
        resource="",
        topics=("Legacy AI Platform", "Tuning jobs of legacy AI Platform", "The command gcloud ai-platform"),
    ),
)

_INTRODUCTION = """# Rules

A rule is a requirement on the declaration of a training job, bucket or other resource. A broken rule gives a
finding: the path of the value, the value, what is wrong with it, and what to do. `pulumi preview` checks all
rules before anything is sent to Google Cloud. `vertex-training explain FILE` prints every finding about the
job in a file with the source of its rule; `--json` also has the name of the rule.

An **error** means that the service would refuse the job, or that it cannot work: the job is not submitted.
A **warning** means that the service accepts the job, but you may regret it. An option, a declared framework
or the value itself can change the level of a rule. A source that begins with "ours" is not a document of
Google's: it gives this project's reason for the rule.

These options change the checks:

| in a program | `explain`, `diff` | effect |
| --- | --- | --- |
| `location` | `--location` | the job's region; without it, the rules of regions are skipped |
| `framework` | `--framework` | checks the needs of this framework, and turns some warnings into errors |
| `allow_unknown_types` | `--allow-unknown-types` | only warns about a name that is not in the tables |
| `allow_legacy_types` | `--allow-legacy-types` | accepts names that Google has retired |

The page of each rule shows a finding, so you can search this documentation for the words of a message.
"""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the overview and of each page.

    Raises ValueError for a topic that no page has.
    """
    missing = set(rule_index.TOPICS) - {topic for kind in KINDS for topic in kind.topics}
    if missing:
        raise ValueError(f"{_me()}: KINDS has no page for the rules of {', '.join(sorted(missing))}.")
    yield PAGE, _overview()
    for kind in KINDS:
        yield kind.page, _page(kind)


def _me() -> str:
    return str(Path(__file__).relative_to(ROOT))


def _overview() -> str:
    sections = [
        f"## {topic}\n\n"
        + table(
            PAGE,
            ("rule", "level", "says"),
            [
                (f"[`{rule.name}`]({relative(PAGE, kind.page)}#{rule.name})", rule.level, rule.says)
                for rule in rules
            ],
        )
        for topic, rules in rule_index.TOPICS.items()
        for kind in KINDS
        if topic in kind.topics
    ]
    limits = [(f"`{rule.name}`", rule.level, rule.says) for rule in explanation.RULES]
    sections.append("## Limits of `explain`\n\n" + table(PAGE, ("rule", "level", "says"), limits))
    return "\n".join([HEADER + _INTRODUCTION, *sections])


def _page(kind: Kind) -> str:
    parts = [f"{HEADER}# {kind.title}", f"How rules work is on the page [Rules](../{PAGE.name})."]
    for topic in kind.topics:
        parts.append(f"## {topic}")
        parts += [_rule(rule) for rule in rule_index.TOPICS[topic]]
    return "\n\n".join(parts) + "\n"


def _rule(rule: Rule) -> str:
    found = findings()[rule.name]
    level = rule.level if found.level == rule.level else f"{rule.level}, here {found.level}"
    says = f"{rule.says[0].upper()}{rule.says[1:]}."
    lines = textwrap.wrap(
        f"{found.level}: {found}",
        88,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    example = code("\n".join(lines), "text")
    return f"### {rule.name}\n\n{filled(f'**{level}** · {says}')}\n\n{example}\n\nSource: {rule.source}"


@functools.cache
def findings() -> Mapping[str, Problem]:
    """Return a finding of each rule, by its name."""
    cases = _cases()
    return {
        name: next(each for each in case.find(cases.changed(case.right, case.wrong)) if each.rule == name)
        for name, case in cases.CASES.items()
    }


@functools.cache
def rules_of_arguments() -> Mapping[str, Sequence[tuple[Kind, Rule]]]:
    """Return the rules by the argument that their findings are about.

    The argument is the field of the message that the path leads to, as CLASS.FIELD, or RESOURCE.ARGUMENT for
    one that is no field.
    """
    found: dict[str, list[tuple[Kind, Rule]]] = {}
    for kind in KINDS:
        for topic in kind.topics:
            for rule in rule_index.TOPICS[topic]:
                if kind.resource:
                    found.setdefault(_argument(kind, findings()[rule.name].path), []).append((kind, rule))
    return found


def _argument(kind: Kind, path: str) -> str:
    names = re.sub(r"\[[^]]*\]", "", path).split(".")
    key = f"{kind.resource}.{names[0]}"
    message = next(one.spec for one in RESOURCES if one.name == kind.resource)
    for name in names:
        field = fields_of(message).get(name) if message is not None else None
        if field is None:
            break
        key, message = field.key, field.message
    return key


def links(page: Path, argument: str) -> str:
    """Return links to the rules of an argument, "" without any."""
    return ", ".join(
        f"[`{rule.name}`]({relative(page, kind.page)}#{rule.name})"
        for kind, rule in rules_of_arguments().get(argument, ())
    )


def _cases() -> ModuleType:
    """Load the module of the test, with the folder of the tests' own modules on the path."""
    folder = str(ROOT / "tests")
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location("cases_of_rules", _CASES)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(_CASES)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
