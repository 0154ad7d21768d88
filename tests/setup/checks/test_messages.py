"""The table of messages: all texts that the packages can show. Print it with `-s`."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.checks.messages import messages, messages_of

ROOT = Path(__file__).parents[3]


def test_texts_and_filled_in_values_but_no_docstrings() -> None:
    source = '''
def f(name):
    """Raise what is asked for."""
    raise ValueError(f"{name!r} is missing. "
                     "Give one.")
    return {"two words": "one word more"}
'''
    found = [(each.line, each.text) for each in messages_of(Path("f.py"), source)]
    assert found == [(4, "{name} is missing. Give one."), (6, "one word more")]


def test_no_message_has_gaps_or_stray_marks() -> None:
    found = list(messages([ROOT / "providers"]))
    assert len(found) > 1000
    for each in found:
        print(f"{each.path.relative_to(ROOT)}:{each.line}: {each.text}")
    gap = re.compile(r" ,(\s|$)| \.$|,,|\bTODO\b")
    assert [str(each) for each in found if gap.search(each.text)] == []
