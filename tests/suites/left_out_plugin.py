"""A pytest plugin for suites of others: it skips the tests that are left out, with the reason.

It runs in the suite's own Python, and so imports nothing of this project. `SUITES_LEFT_OUT` is JSON: pairs of
a regular expression and a reason. So is `SUITES_ALIASES`: pairs of a package's second name and its name.
"""

import importlib
import json
import os
import re
import sys

import pytest

PREFIX = "left out: "


def pytest_sessionstart():  # type: ignore[no-untyped-def]
    for second, name in json.loads(os.environ["SUITES_ALIASES"]):
        sys.modules[second] = importlib.import_module(name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):  # type: ignore[no-untyped-def]
    reasons = json.loads(os.environ["SUITES_LEFT_OUT"])
    for item in items:
        why = next((why for form, why in reasons if re.search(form, item.nodeid)), None)
        if why is not None:
            # The first mark counts, before those of the suite.
            item.add_marker(pytest.mark.skip(reason=PREFIX + why), append=False)
