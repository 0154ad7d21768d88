"""`make soak`: random histories of jobs on the real engine, compared with a model (docs/rerun.md)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from soak import runner  # noqa: E402
from soak.limits import DEFECTS, EXCLUDED  # noqa: E402


def main(arguments: list[str]) -> int:
    """Return 0 if the engine did what the model forecast, else 1."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument(
        "--sequences", type=int, default=200, help="number of declarations with a history, 10 to a stack"
    )
    parser.add_argument("--stacks", type=int, help="instead of --sequences")
    parser.add_argument("--seconds", type=float, help="begin no stack that would end later")
    parser.add_argument("--seed", type=int, help="seed of the first stack; default: SOAK_SEED, else random")
    parser.add_argument("--slots", help="only these declarations, as in d0,d3, from a report")
    parser.add_argument("--steps", help="only these steps, as in 0,2,5, from a report")
    parser.add_argument(
        "--shorten", type=float, default=180.0, help="seconds to shorten a history that fails"
    )
    parser.add_argument("--strict", action="store_true", help="report known defects as well")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else int(os.environ.get("SOAK_SEED") or runner.any_seed())
    part = None
    if options.slots or options.steps:
        slots = options.slots.split(",") if options.slots else [f"d{n}" for n in range(runner.SLOTS)]
        steps = frozenset(map(int, options.steps.split(","))) if options.steps else None
        part = runner.Part(slots=tuple(slots), steps=steps)
    print(f"the first seed is {seed}; not checked:", flush=True)
    for excluded in (*EXCLUDED, *([] if options.strict else DEFECTS.values())):
        print(f"  {excluded}", flush=True)
    summary = runner.soak(
        seed=seed,
        stacks=options.stacks or -(-options.sequences // runner.SLOTS),
        seconds=options.seconds,
        part=part,
        shorten_seconds=options.shorten,
        defects=frozenset() if options.strict else frozenset(DEFECTS),
        print_line=lambda line: print(line, flush=True),
    )
    print(summary.line(), flush=True)
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
