"""The page of the rules, each once, and the findings about declarations that break them.

The declarations are the cases of the test that breaks every rule once, so a finding is always a real one.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from pulumi_vertex_training.cli.explain import explanation, rule_index
from scripts.arguments.catalog import RESOURCES, ROOT
from scripts.arguments.messages import fields_of
from scripts.reference.markdown import DOCS, HEADER, REFERENCE, anchor, relative, table
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

PAGE = REFERENCE / "rules.md"
FINDINGS = DOCS / "assets" / "rule-findings.js"
_CASES = ROOT / "tests" / "pulumi_vertex_training" / "cli" / "explain" / "test_every_rule.py"
_MOST_NAMES = 2

_RESOURCES: Mapping[str, str] = {
    **dict.fromkeys(
        ("Tuning jobs", "Studies", "Parameters of a study", "The end of a study"), "HyperparameterTuningJob"
    ),
    **dict.fromkeys(("Training pipelines", "Input data of pipelines", "Models"), "TrainingPipeline"),
    **dict.fromkeys(("Staging buckets", "Lifecycle rules of buckets"), "StagingBucket"),
    "Persistent resources": "PersistentResource",
    "Repositories for images": "ImageRepository",
    "Training images": "TrainingImage",
    "Schedules": "TrainingSchedule",
    **dict.fromkeys(
        (
            *("Documents and roles", "The command gcloud ai custom-jobs"),
            *("Legacy AI Platform", "Tuning jobs of legacy AI Platform", "The command gcloud ai-platform"),
        ),
        "",
    ),
}
"""The resource whose arguments the rules of a topic are about, "" without one. For all others: CustomJob."""

_INTRODUCTION = f"""# Rules

A rule is a requirement on the declaration of a training job, bucket or other resource. A broken rule gives a
finding: the path of the value, the value, what is wrong with it, and what to do. `pulumi preview` checks all
rules before anything is sent to Google Cloud. `vertex-training explain FILE` prints every finding about the
job in a file with the source of its rule; `--json` also has the name of the rule.

An **error** means that the service would refuse the job, or that it cannot work: the job is not submitted.
A **warning** means that the service accepts the job, but you may regret it; these rules are marked. An
option, a declared framework or the value itself can change the level of a rule. A source in code is a field
of the Vertex AI API, one in quotes a page of the Vertex AI documentation. A source that begins with "ours" is
not a document of Google's: it gives this project's reason for the rule.

These options change the checks:

| in a program | `explain`, `diff` | effect |
| --- | --- | --- |
| `location` | `--location` | the job's region; without it, the rules of regions are skipped |
| `framework` | `--framework` | checks the needs of this framework, and turns some warnings into errors |
| `allow_unknown_types` | `--allow-unknown-types` | only warns about a name that is not in the tables |
| `allow_legacy_types` | `--allow-legacy-types` | accepts names that Google has retired |

To find a rule by a message, paste the message, or some of its words, into the box. The box also shows a
finding of the rule; without the site, [{FINDINGS.name}](../assets/{FINDINGS.name}) has them.

<div id="rule-search"></div>
"""
_SCRIPTS = f"""
<script src="../assets/{FINDINGS.name}"></script>
<script src="../assets/rule-search.js"></script>
"""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page, and of the findings that its search box finds."""
    sections = [
        f"## {topic}\n\n" + table(PAGE, ("rule", "says", "source"), [_row(rule) for rule in rules])
        for topic, rules in (*rule_index.TOPICS.items(), ("Limits of explain", explanation.RULES))
    ]
    yield PAGE, "\n".join([HEADER + _INTRODUCTION, *sections, _SCRIPTS.lstrip("\n")])
    yield FINDINGS, _data()


def _row(rule: Rule) -> tuple[str, ...]:
    warning = "*warning*: " if rule.level == "warning" else ""
    return f'<a id="{rule.name}"></a>`{rule.name}`', f"{warning}{rule.says}", _source(rule.source)


def _source(source: str) -> str:
    field, is_field = source.removeprefix("Vertex AI API, "), source.startswith("Vertex AI API, ")
    if is_field and re.fullmatch(r"[\w.]+", field):
        return f"`{field}`"
    return source.removeprefix("Vertex AI documentation, ")


def _data() -> str:
    found = {name: f"{each.level}: {each}" for name, each in findings().items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found[name])}" for name in found)
    return f"// Written by `make generate`: a finding of each rule.\nwindow.ruleFindings = {{\n{lines}\n}};\n"


@functools.cache
def findings() -> Mapping[str, Problem]:
    """Return a finding of each rule, by its name."""
    cases = _cases()
    return {
        name: next(each for each in case.find(cases.changed(case.right, case.wrong)) if each.rule == name)
        for name, case in cases.CASES.items()
    }


@functools.cache
def rules_of_arguments() -> Mapping[str, Sequence[tuple[str, Rule]]]:
    """Return the rules with their topics, by the argument that their findings are about.

    The argument is the field of the message that the path leads to, as CLASS.FIELD, or RESOURCE.ARGUMENT for
    one that is no field.
    """
    found: dict[str, list[tuple[str, Rule]]] = {}
    for topic, rules in rule_index.TOPICS.items():
        if resource := _RESOURCES.get(topic, "CustomJob"):
            for rule in rules:
                found.setdefault(_argument(resource, findings()[rule.name].path), []).append((topic, rule))
    return found


def _argument(resource: str, path: str) -> str:
    names = re.sub(r"\[[^]]*\]", "", path).split(".")
    key = f"{resource}.{names[0]}"
    message = next(one.spec for one in RESOURCES if one.name == resource)
    for name in names:
        field = fields_of(message).get(name) if message is not None else None
        if field is None:
            break
        key, message = field.key, field.message
    return key


def links(page: Path, argument: str) -> str:
    """Return links to the rules of an argument, by name if there are few, else by topic; "" without any."""
    found = rules_of_arguments().get(argument, ())
    target = relative(page, PAGE)
    if len(found) <= _MOST_NAMES:
        return ", ".join(f"[`{rule.name}`]({target}#{rule.name})" for _, rule in found)
    counts = Counter(topic for topic, _ in found)
    return ", ".join(f"[{topic}]({target}#{anchor(topic)}) ({count})" for topic, count in counts.items())


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
