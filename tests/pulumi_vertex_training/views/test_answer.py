from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.views.markdown_output import MarkdownOutput
from vertex_training.command_line.answer import Answer, render
from vertex_training.command_line.output import Code, Output


@dataclass(frozen=True)
class Found(Answer):
    jobs: int

    @property
    def exit_code(self) -> int:
        return 0 if self.jobs else 1

    def show(self, output: Output) -> None:
        output.title("Jobs of @team", f"{self.jobs} live")
        output.gap()
        output.table(
            ("NAME", "STATE", "WHY"), [(Code("a|b"), "RUNNING", ["one", "two"])], optional=("STATE",)
        )
        output.table(("NAME", "WHY"), [("a", "")], optional=("WHY",))
        output.finding("warning", "use `gcloud`, @team")
        output.results([("error", "it is gone", "make it")])
        output.commands("To repair", [("both", "pulumi up", ["soon"])])
        output.details("each", ("FIELD", "NEW"), [(Code("x.y"), "1")])


def test_json_has_texts_for_numbers_that_are_not_finite(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True, terminal=False)
    value = {"metrics": {"loss": float("nan"), "norm": [float("inf")]}}
    output.document(value)
    output.document_line(value)
    found = capsys.readouterr().out
    assert found.count('"NaN"') == found.count('"Infinity"') == 2
    assert json.loads(found[: found.rindex("\n{")]) == {"metrics": {"loss": "NaN", "norm": ["Infinity"]}}


PLAIN = """\
Jobs of @team: 2 live.

NAME  STATE    WHY
a|b   RUNNING  one
               two
NAME
a
warning: use `gcloud`, @team
error    it is gone
         make it

To repair
  both:
    pulumi up
    (soon)
"""

MARKDOWN = """\
### Jobs of @\u2060team

2 live.

| Name | State | Why |
| --- | --- | --- |
| `a\\|b` | RUNNING | one<br>two |

| Name |
| --- |
| a |

- **warning**: use `gcloud`, @\u2060team

| Result | Finding | Remedy |
| --- | --- | --- |
| error | it is gone | `make it` |

| To repair | Run |
| --- | --- |
| both<br>soon | `pulumi up` |

<details><summary>each</summary>

| Field | New |
| --- | --- |
| `x.y` | 1 |

</details>
"""


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (Output(as_json=False, terminal=False), PLAIN),
        (MarkdownOutput(as_json=False, terminal=False), MARKDOWN),
    ],
)
def test_one_answer_in_each_form(output: Output, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(Found(2), output) == 0
    assert capsys.readouterr().out == text


def test_an_answer_as_json_has_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert render(Found(0), Output(as_json=True, terminal=False)) == 1
    assert json.loads(capsys.readouterr().out) == {"jobs": 0}
