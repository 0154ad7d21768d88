"""The budget table with the present figures of this machine: `make bench`, `make bench ARGS="--full"`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]

from client import (  # noqa: E402
    costs,
    deployments,
    drifts,
    explain,
    imports,
    install,
    languages,
    plans,
    preflights,
    previews,
    providers,
    tests,
    waits,
)
from emulated import (  # noqa: E402
    dashboard,
    edits,
    emulator,
    examples,
    images,
    jobs,
    memory,
    pipelines,
    proxy,
    storage,
    tensorflow,
    tuning,
)
from figure import Figure  # noqa: E402


def main(arguments: list[str]) -> int:
    """Print each figure as soon as it is measured. Return 0 if all are within their budgets, else 1."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="previews of 1,000 jobs as well (minutes)")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of lines")
    parser.add_argument(
        "--only",
        choices=(*GROUPS, *ON_REQUEST),
        action="append",
        help="a part of the table; measured only on request: `tests`, the time of `make test`, `edits`, "
        "which downloads TensorFlow, and `examples`, which downloads JAX, XGBoost, LightGBM and MXNet",
    )
    options = parser.parse_args(arguments)
    counts = [1, 10, 100, 1000] if options.full else [1, 10, 100]
    groups: dict[str, Callable[[], Iterable[Figure]]] = {
        "imports": imports.figures,
        "providers": providers.figures,
        "explain": explain.figures,
        "costs": costs.figures,
        "emulator": emulator.figures,
        "jobs": jobs.figures,
        "tuning": tuning.figures,
        "memory": memory.figures,
        "pipelines": pipelines.figures,
        "dashboard": dashboard.figures,
        "storage": storage.figures,
        "proxy": proxy.figures,
        "tensorflow": tensorflow.figures,
        "images": images.figures,
        "previews": lambda: previews.figures(counts),
        "languages": lambda: languages.figures([count for count in counts if count != 10]),
        "plan": lambda: plans.figures(counts),
        "preflight": preflights.figures,
        "drift": lambda: drifts.figures(counts),
        "deployments": deployments.figures,
        "waits": waits.figures,
        "install": install.figures,
        "edits": edits.figures,
        "examples": examples.figures,
        "tests": tests.figures,
    }
    found = []
    for name in options.only or GROUPS:
        for figure in groups[name]():
            found.append(figure)
            if not options.json:
                print(_line(figure), flush=True)
    if options.json:
        print(json.dumps([{**dataclasses.asdict(one), "within": one.within} for one in found], indent=2))
    return 1 if any(one.within is False for one in found) else 0


GROUPS = (
    "imports",
    "providers",
    "explain",
    "costs",
    "emulator",
    "jobs",
    "tuning",
    "memory",
    "pipelines",
    "dashboard",
    "storage",
    "proxy",
    "tensorflow",
    "images",
    "previews",
    "languages",
    "plan",
    "preflight",
    "drift",
    "deployments",
    "waits",
    "install",
)

ON_REQUEST = ("edits", "examples", "tests")


def _line(figure: Figure) -> str:
    budget = ""
    if figure.budget is not None:
        sign = ">=" if figure.higher_is_better else "<="
        result = "ok  " if figure.within else "OVER"
        budget = f"{result} (budget {sign} {figure.budget:g})"
    return f"{figure.name:72} {figure.value:10.4g} {figure.unit:5} {budget:24} {figure.note}".rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
