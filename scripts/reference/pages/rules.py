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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from pulumi_vertex_training.cli.explain import explanation, rule_index
from scripts.arguments.catalog import RESOURCES, ROOT
from scripts.arguments.messages import fields_of
from scripts.reference.markdown import DOCS, HEADER, REFERENCE, anchor, relative
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

PAGE = REFERENCE / "rules.md"
FINDINGS = DOCS / "assets" / "rule-findings.js"
_CASES = ROOT / "tests" / "pulumi_vertex_training" / "cli" / "explain" / "test_every_rule.py"
_MOST_NAMES = 2
_API = re.compile(
    r"^(Vertex AI|AI Platform Training|Artifact Registry|Cloud Scheduler|Cloud Build) API( v1)?, (Job, )?"
)
"""Beginning of a source that is a field of an API."""

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

`pulumi preview` checks these rules before anything is sent to Google Cloud, and `vertex-training explain
FILE` checks a job in a file. An **error** means that the job cannot work: it is not submitted. With a
**warning** the service accepts the job, but you may regret it. These options of a program, and of `explain`
and `diff`, change the checks:

* `location`: the job's region; without it, the rules of regions are skipped
* `framework`: checks the needs of this framework, and turns some warnings into errors
* `allow_unknown_types`: only warns about a name that is not in the tables
* `allow_legacy_types`: accepts names that Google has retired

A rule ends with its source, a field of the API or the number of a document in [Sources](#sources), unless
it is ours. To find a rule, paste a message into the box. It shows a finding and the full source, which are
also in [{FINDINGS.name}](../assets/{FINDINGS.name}).

<div id="rule-search"></div>
"""
_SCRIPTS = f"""
<script src="../assets/{FINDINGS.name}"></script>
<script src="../assets/rule-search.js"></script>
"""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page, and of the findings that its search box finds."""
    listed = (*rule_index.TOPICS.items(), ("Limits of explain", explanation.RULES))
    documents = _documents(rule.source for _, rules in listed for rule in rules)
    sections = [
        f"## {topic}\n\n" + "".join(f"* {_line(rule, documents)}\n" for rule in rules)
        for topic, rules in listed
    ]
    sources = "".join(f"{number}. {document}\n" for document, number in documents.items())
    sources = f"## Sources\n\nPages without a publisher are of the Vertex AI documentation.\n\n{sources}"
    yield PAGE, "\n".join([HEADER + _INTRODUCTION, *sections, sources, _SCRIPTS.lstrip("\n")])
    yield FINDINGS, _data()


def _line(rule: Rule, documents: Mapping[str, int]) -> str:
    warning = "*warning*: " if rule.level == "warning" else ""
    sources = dict.fromkeys(_source(part, documents) for part in _parts(rule.source) if not _is_ours(part))
    known = f" ({', '.join(sources)})" if sources else ""
    return f'<a id="{rule.name}"></a>`{rule.name}`: {warning}{rule.says}{known}'


def _parts(source: str) -> list[str]:
    """Return the sources that one text names. A reason of this project is one."""
    return [source] if source.startswith("ours") else source.split("; ")


def _source(part: str, documents: Mapping[str, int]) -> str:
    """Return a source as its field of the API, as the number of its document, or as it is written."""
    field = re.sub(_API, "", part)
    if field != part and re.fullmatch(r"[\w.]+", field):
        return f"`{field}`"
    number = documents.get(_document(part))
    return f"[{number}](#sources)" if number else re.sub(r", (which|one of its fields\b).*", "", field)


def _is_ours(part: str) -> bool:
    return part.startswith("ours") or part.endswith(" ours")


def _document(part: str) -> str:
    """Return the document of a source, without its section; "" for a reason of this project."""
    if _is_ours(part):
        return ""
    found = re.match(r'[^"]*"[^"]+"', part) if not part.startswith("Vertex AI API") else None
    return (found[0] if found else part).removeprefix("Vertex AI documentation, ")


def _documents(sources: Iterable[str]) -> Mapping[str, int]:
    """Return a number for each document that has a title or is the source of several rules."""
    found = Counter(_document(part) for source in sources for part in _parts(source))
    titles = [each for each, count in found.items() if each and (each.endswith('"') or count > 1)]
    fields = re.compile(r"^(Vertex AI API|AI Platform Training API v1), [\w.]+$")
    return {each: number for number, each in enumerate((x for x in titles if not fields.match(x)), 1)}


def _data() -> str:
    sources = {rule.name: rule.source for rule in rule_index.RULES.values()}
    found = {name: f"{each.level}: {each}\nSource: {sources[name]}" for name, each in findings().items()}
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
    """Return links to the rules of an argument, by name if there are few, else to their topics."""
    found = rules_of_arguments().get(argument, ())
    target = relative(page, PAGE)
    if len(found) <= _MOST_NAMES:
        return ", ".join(f"[`{rule.name}`]({target}#{rule.name})" for _, rule in found)
    topics = dict.fromkeys(topic for topic, _ in found)
    return ", ".join(f"[{topic}]({target}#{anchor(topic)})" for topic in topics)


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
