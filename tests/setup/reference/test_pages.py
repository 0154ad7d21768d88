"""The pages of the reference: complete, and with examples that the code accepts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from pulumi_vertex_training import configuration_keys
from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cli.doctor import variables as known_variables
from pulumi_vertex_training.cli.explain import rule_index
from pulumi_vertex_training.core import settings
from scripts.arguments.catalog import RESOURCES, ROOT
from scripts.reference import examples, files, markdown
from scripts.reference.markdown import HEADER, REFERENCE, UnknownPageError, cell, linked, prose
from scripts.reference.pages import commands, functions, policies, rules, variables
from scripts.reference.pages import variable_texts as texts
from scripts.reference.signatures import function
from vertex_training.policy.evaluation import configuration_of

PAGE = REFERENCE / "resources" / "CustomJob.md"


NOT_READ = (
    "providers/vertex-emulator/src/vertex_emulator/server/rpc/descriptors",
    "scripts/reference",
    "scripts/verify_google/jobs",
)
"""Generated descriptions, the texts of the pages, and programs that run in replicas."""


def sources(folder: str) -> Iterator[str]:
    """Yield the source of each module in a folder of the clone."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        if not str(file.relative_to(ROOT)).startswith(NOT_READ):
            yield file.read_text(encoding="utf-8")


def read_variables(folder: str) -> Iterator[str]:
    """Yield the names with which code reads `os.environ`, or a mapping that stands for it."""
    for source in sources(folder):
        yield from re.findall(r"\b(?:environ|environment)(?:\.get\(|\[)\"([A-Za-z_]+)\"", source)


def test_no_page_is_left_of_what_is_gone() -> None:
    written = {path for path in REFERENCE.rglob("*.md") if path.read_text().startswith(HEADER)}
    assert written <= {path for path, _ in files.pages()}


def test_every_configuration_key_of_the_code_is_declared() -> None:
    found = {
        name
        for source in sources("providers")
        for name in re.findall(r"\bvertex-training:[a-z]\w+(?![\w:])", source)
    }
    internal = {"vertex-training:rule"}  # metadata of a dataclass's field
    assert found - internal <= {key.name for key in configuration_keys.KEYS}


def test_the_example_of_every_key_is_a_value_that_it_can_have() -> None:
    examples = {key.name: key.value for key in configuration_keys.KEYS}
    found = settings.read(examples.get)
    assert (found.endpoint, found.project, found.lookup_seconds) == ("google", "my-project", 5)
    assert (found.cost_limits.max_hourly, found.cost_limits.allow_unknown) == (20, True)


def test_every_environment_variable_of_the_code_has_a_meaning() -> None:
    ours = re.compile(
        r"[\"']((?:VERTEX|AIP|CLOUD_ML|CLOUDSDK|GCE|GOOGLE|PULUMI|XDG|PIP|FSSPEC|GCSFS)_[A-Z_]+[A-Z])[\"']"
    )
    folders = ("providers", "scripts")
    found = {name for folder in folders for source in sources(folder) for name in ours.findall(source)}
    read = {name for folder in folders for name in read_variables(folder)}
    assert sorted((found | read) - set(texts.ALL) - NO_VARIABLES) == []
    assert sorted(NO_VARIABLES - found - read) == []


NO_VARIABLES = {
    "GOOGLE_SYMMETRIC_ENCRYPTION",  # a value of Cloud KMS
    *("HOROVOD_LOCAL_SIZE", "LIGHTGBM_"),  # of frameworks: the page has their presets
    "no_proxy",  # NO_PROXY
    *("VERIFY_FOLDER", "VERIFY_QUESTION"),  # of the jobs of make verify-google
}
"""Names in the code that no program of ours reads as an environment variable."""


def test_doctor_knows_every_variable_of_this_project() -> None:
    assert {name for name in texts.ALL if name.startswith(known_variables.PREFIX)} == known_variables.KNOWN


def test_every_variable_of_a_replica_has_a_meaning() -> None:
    assert set(variables.replica_variables()) == set(texts.REPLICA)


def test_every_example_of_a_command_can_be_parsed() -> None:
    for group in (*commands.GROUPS, *commands.EMULATOR_GROUPS):
        for name, lines in group.examples.items():
            for line in lines:
                words = shlex.split(line)
                if words[0] != "eval":
                    parsed = parser.parse(words)
                    assert name in (parsed.command, getattr(parsed, "action", None))


def test_a_command_without_an_example_is_named() -> None:
    found = {one.prog: one for one in parser.build().each()}
    with pytest.raises(commands.UnlistedCommandError, match=r"vertex-training: .*watch"):
        list(commands._groups(found, commands.GROUPS[:2], "vertex-training", commands.PAGE))


def test_every_option_of_every_command_is_on_a_page() -> None:
    text = "".join(text for _, text in commands.pages())
    missing = [
        (one.prog, option)
        for one in parser.build().each()
        for option in one.options()
        if option not in ("-h", "--help", "--version") and not re.search(rf"`{option}[` ]", text)
    ]
    assert missing == []


def test_the_example_of_policies_is_one_that_the_pack_takes() -> None:
    assert configuration_of(policies.EXAMPLE).problems == ()


def test_every_rule_is_on_the_page_and_has_a_finding_in_its_search_box() -> None:
    written = dict(rules.pages())
    assert [name for name in rule_index.RULES if f'<a id="{name}"></a>' not in written[rules.PAGE]] == []
    data = written[rules.FINDINGS].partition("window.ruleFindings = ")[2].rstrip(";\n")
    assert set(json.loads(data)) == set(rules.findings()) == set(rule_index.RULES)
    assert all(rule.source in json.loads(data)[name] for name, rule in rule_index.RULES.items())


def test_the_page_of_rules_has_each_document_once_and_a_link_to_it() -> None:
    text = dict(rules.pages())[rules.PAGE]
    listed = re.findall(r"^(\d+)\. (.+)$", text.partition("## Sources")[2], re.MULTILINE)
    assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
    assert len({document for _, document in listed}) == len(listed) > 40
    assert set(re.findall(r"\[(\d+)\]\(#sources\)", text)) == {number for number, _ in listed}
    chief = next(line for line in text.splitlines() if 'id="chief-missing"' in line)
    assert "([1](#sources))" in chief
    assert listed[0][1] == '"Distributed training"'


def test_a_rule_is_named_at_the_argument_that_it_is_about() -> None:
    links = rules.links(PAGE, "WorkerPoolSpec.replica_count")
    assert links.startswith("[Worker pools](../rules.md#worker-pools), ")
    assert "[`labels`](../rules.md#labels)" in rules.links(PAGE, "CustomJobSpec.labels")
    assert rules.links(PAGE, "WorkerPoolSpec.no_field") == ""


def test_an_option_of_many_commands_is_described_once() -> None:
    text = "".join(text for _, text in commands.pages())
    assert text.count("Data folder of the emulator") == 1
    assert "* [Shared](#shared-options): `--json`, `--markdown`, `-C`, `-s`, `--data-dir`" in text
    assert "16, the check `policy` failed; their sum, several checks failed.\n" in text


def test_the_page_of_the_emulator_names_the_options_of_all_its_commands_once() -> None:
    text = dict(commands.pages())[commands.EMULATOR_PAGE]
    assert "All have the [shared options](commands.md#shared-options)\n`--json` and `--data-dir`." in text
    assert text.count("`--json`") == text.count("`--data-dir`") == 1
    found = [one for one in parser.build().each() if one.prog.startswith("vertex-training emulator ")]
    leaves = [one for one in found if not any(x.prog.startswith(f"{one.prog} ") for x in found)]
    assert len(leaves) > 30
    assert [one.prog for one in leaves if not {"--json", "--data-dir"} <= set(one.options())] == []
    assert "* `clock advance SECONDS`: Advance the clock.\n" in text


def test_every_resource_has_an_example_that_declares_it() -> None:
    assert [one.name for one in RESOURCES if f"vt.{one.name}(" not in examples.of_resource(one.name)] == []
    for group in functions.GROUPS:
        source = examples.shown(examples.FOLDER / "functions" / f"{group.example}.py")
        assert any(f"vt.{name}(" in source for name in group.names)


def test_links_lead_to_a_page_of_the_documentation() -> None:
    assert linked(PAGE, "See docs/rerun.md.").startswith("See [When a training job runs again](../../")
    assert linked(PAGE, "See docs/guides/cost/cost.md#limits.").startswith("See [Limits](../../")
    with pytest.raises(UnknownPageError, match=r"docs/no-page\.md: there is no such page"):
        linked(PAGE, "See docs/no-page.md.")


def test_a_cell_stays_in_its_row() -> None:
    assert cell(PAGE, "a | b\n<c> `<d>`") == "a \\| b &lt;c> `<d>`"


def test_entries_of_an_earlier_list_are_a_link() -> None:
    first, other = "* `a`: One.\n* `b`: Two.", "* `a`: One.\n* `b`: Two.\n* `c`: Three."
    single = "* `a`: One.\n* `c`: 3."
    parts = ["### First", first, "### Second", other, "### Third", single]
    found = list(markdown.without_repeats(parts))
    assert found == [*parts[:3], "* `c`: Three.", "As in [First](#first): `a`, `b`.", "### Third", single]
    known = dict.fromkeys(first.split("\n"), "[Other](other.md#other)")
    assert list(markdown.without_repeats([first], known)) == ["As in [Other](other.md#other): `a`, `b`."]


def test_only_effects_that_are_not_the_usual_one_are_printed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "except where *no rerun* is written.\n" in text
    assert "* `labels`: *map of string; no rerun*. " in text
    assert "* `network`: *string*. " in text
    assert "* `run_token`: *string; reruns the job*. " in text
    assert "* `keep_runs`: *integer, default `10`*. " in text
    assert "* `project`, `location`, `opts`: [as in all resources](../index.md#in-all-resources)" in text


def test_code_in_a_docstring_is_one_block() -> None:
    text = "Summary:\n\n    first()\n\n    second()\n\nAnd ``so`` on.\n"
    assert prose(text) == "Summary:\n\n```python\nfirst()\n\nsecond()\n```\n\nAnd `so` on."


def documented(first: int, *more: str, last: str = "x", **others: object) -> list[str]:
    """Return nothing.

    :param last: The last one.
    """
    return [str(first), *more, last, *others]


def test_controls_that_differ_from_those_of_the_fixture_have_their_own_texts() -> None:
    text = dict(functions.pages())[functions.TESTING_PAGE].partition("\n## Control\n")[2]
    own, _, same = text.partition(
        "These do the same as the methods of `VertexEmulator`, or return what those"
    )
    assert "\nrequests(*, last: int | None = None, after: int = 0) -> dict[str, Any]\n" in own
    assert "* `requests`: Return" in own
    assert "\nfreeze_clock() -> dict[str, Any]\n" in same and "freeze_clock" not in own
    assert "\nreplica_limit() -> int\n" in same


def test_a_function_is_shown_as_it_is_written() -> None:
    signature, text, parameters = function(PAGE, "documented", documented)
    assert signature == (
        '```python\ndocumented(first: int, *more: str, last: str = "x", **others: object) -> list[str]\n```'
    )
    assert (text, parameters) == ("Return nothing.", "* `last`: The last one.")
