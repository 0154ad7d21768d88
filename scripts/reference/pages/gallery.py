"""The gallery: each example as a card with the picture of its topology, its result, time, price and command.

The pools are compared with the programs by a test. Accuracies are what the README of an example shows; the
tests of the examples assert that they are above a bound. Prices are computed from the table of prices.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli.explain.explanation import explanation_of
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.topology import svg
from scripts.reference.markdown import DOCS, HEADER
from vertex_training.findings.options import CheckOptions

PAGE = DOCS / "gallery.md"
PICTURES = DOCS / "pictures" / "gallery"
_IMAGE = "us-docker.pkg.dev/my-project/examples/trainer:1"
_UP = "cd {folder} && pulumi stack init local && pulumi up --yes"
_UP_WITH_PLUGIN = f"vertex-training plugin install\n{_UP}"
_UP_WITH_SDK = _UP_WITH_PLUGIN.replace("&&", "&& npm install && pulumi package add vertex-training &&", 1)


@dataclass(frozen=True, kw_only=True)
class Card:
    """An example: its text, and one entry for each pool, (machine type, replicas) or {} for an unused one.

    `times` is the number of jobs with these pools that run at the same time.
    """

    name: str
    title: str
    folder: str
    text: str
    result: str
    first_up: str = ""
    command: str = _UP
    machine: str = "n1-standard-4"
    replicas: tuple[int, ...] = (1, 2)
    accelerator: tuple[str, int] | None = None
    reduction_servers: bool = False
    strategy: str = ""
    times: int = 1

    def document(self) -> dict[str, Any]:
        """Return the job as `explain` reads it."""
        machine: dict[str, Any] = {"machineType": self.machine}
        if self.accelerator is not None:
            machine |= {"acceleratorType": self.accelerator[0], "acceleratorCount": self.accelerator[1]}
        pools: list[dict[str, Any]] = [
            {"machineSpec": machine, "replicaCount": count, "containerSpec": {"imageUri": _IMAGE}}
            if count
            else {}
            for count in self.replicas
        ]
        if self.reduction_servers:
            pools.append({"replicaCount": "auto"})
        scheduling = {"scheduling": {"strategy": self.strategy}} if self.strategy else {}
        return {"displayName": self.name, "jobSpec": {"workerPoolSpecs": pools, **scheduling}}


CARDS = (
    Card(
        name="digits",
        title="Digits in NumPy",
        folder="infra",
        text="What a distributed program has to do by itself: ranks, sums, checkpoints, an evaluator.",
        result="equal weights on every rank, bit for bit",
        first_up="18 s",
        command="make up",
        replicas=(1, 2, 0, 1),
    ),
    Card(
        name="jax",
        title="JAX over processes",
        folder="examples/jax",
        text="One model over three processes. It continues from a checkpoint after a worker was killed.",
        result="accuracy 0.88",
        first_up="4 min",
    ),
    Card(
        name="pytorch",
        title="PyTorch, DistributedDataParallel and torchrun",
        folder="examples/pytorch",
        text="From the environment, and, in the picture, with two processes on each machine by torchrun.",
        result="accuracy 0.90 with 3 processes, 0.87 with 6",
        first_up="140 s",
        machine="n1-standard-8",
        accelerator=("NVIDIA_TESLA_T4", 2),
    ),
    Card(
        name="parameter-server",
        title="TensorFlow's ParameterServerStrategy",
        folder="examples/parameter-server",
        text="The variables live on the parameter server, and the model is saved by its gs:// address.",
        result="accuracy 0.97",
        first_up="70 s",
        replicas=(1, 2, 1, 1),
    ),
    Card(
        name="code-lab",
        title="Google's code lab",
        folder="examples/code-lab",
        text="`MirroredStrategy` on two accelerators, and `MultiWorkerMirroredStrategy`, unchanged.",
        result="accuracy near 1 after ten epochs, on drawn flowers",
        first_up="55 s",
        machine="n1-standard-4",
        accelerator=("NVIDIA_TESLA_V100", 2),
        replicas=(1,),
    ),
    Card(
        name="boosting",
        title="XGBoost and LightGBM",
        folder="examples/boosting",
        text="One model on all replicas without a parameter server: two jobs of one image.",
        result="accuracy 0.88 and 0.89",
        first_up="4 min",
        times=2,
    ),
    Card(
        name="mxnet",
        title="A job of the legacy AI Platform, in MXNet",
        folder="examples/mxnet",
        text="The old document goes in, a job of Vertex AI comes out: scheduler, workers and servers.",
        result="accuracy 0.90",
        first_up="3 min",
        replicas=(1, 2, 2),
    ),
    Card(
        name="adanet",
        title="AdaNet",
        folder="examples/adanet",
        text="Which replica builds, trains and holds which subnetwork. A larger cluster continues.",
        result="an ensemble that grows by one subnetwork in each iteration",
        first_up="45 s",
        replicas=(1, 3, 2, 1),
    ),
    Card(
        name="tuning",
        title="Hyperparameter tuning of distributed trials",
        folder="examples/tuning",
        text="Six trials, two at a time. Each is a chief and a worker, as in the picture.",
        result="best accuracy 0.89",
        first_up="3 min",
        replicas=(1, 1),
        times=2,
    ),
    Card(
        name="reduction-servers",
        title="JAX with reduction servers",
        folder="examples/reduction-servers",
        text="Their number is computed from the bandwidth of chief and worker.",
        result="the accuracy of JAX without them, 0.88",
        first_up="3 min",
        replicas=(1, 1),
        reduction_servers=True,
    ),
    Card(
        name="yaml",
        title="Digits in YAML",
        folder="examples/yaml",
        text="The program is a Pulumi.yaml, without Python.",
        command=_UP_WITH_PLUGIN,
        result="the job has succeeded",
        first_up="4 s",
        replicas=(1, 1),
    ),
    Card(
        name="typescript",
        title="Digits in TypeScript",
        folder="examples/typescript",
        text="The same declaration, with types from the SDK that Pulumi generates.",
        command=_UP_WITH_SDK,
        result="the job has succeeded",
        replicas=(1, 1),
    ),
    Card(
        name="scarcity",
        title="A training that outlives scarcity",
        folder="tests/engine/jobs",
        text=(
            "No Spot machines, a wait that takes too long, another region, a preemption, and the way back: "
            "the [story](guides/programs/capacity.md#continue-in-another-region) as a test."
        ),
        result="four attempts in two regions, one result",
        first_up="15 s",
        command='make test ARGS="-m slow tests/engine/jobs/test_scarcity_story.py"',
        machine="g2-standard-8",
        accelerator=("NVIDIA_L4", 1),
        replicas=(1,),
        strategy="SPOT",
    ),
)

_TOP = """# Gallery

Examples that run as they stand, on the emulator without an account, and unchanged on Google Cloud. In a
clone, `source ./activate` sets up everything. Accuracies are from the READMEs of the examples. Times are
first deployments with downloads, in minutes on two busy cores, in seconds on quiet ones; the code lab and
AdaNet follow another example with TensorFlow. Prices are for all replicas at once in us-central1, on demand
(the last: Spot), from the [table of prices](guides/cost/prices.md)."""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page, and of its pictures."""
    found = {card.name: explanation_of(card.document(), options=CheckOptions()) for card in CARDS}
    parts = [f"{HEADER}{_TOP}", *(_card(card, found[card.name]) for card in CARDS)]
    parts.append("Next: [write a program of your own](guides/programs/program.md).")
    yield PAGE, "\n\n".join(parts) + "\n"
    for name, explained in found.items():
        if explained.spec is not None:
            yield PICTURES / f"{name}.svg", svg.picture(explained.spec.worker_pool_specs) + "\n"


def _card(card: Card, explained: Explanation) -> str:
    cost = explained.cost
    if explained.spec is None or cost is None or cost.hourly is None:
        raise ValueError(f"scripts/reference/pages/gallery.py: {card.name}: its job has errors or no price.")
    picture = svg.picture(explained.spec.worker_pool_specs)
    words = html.unescape(picture.partition("<title>")[2].partition("</title>")[0])
    facts = [f"**{card.result}**", f"first `up` {card.first_up}" if card.first_up else ""]
    facts.append(f"${cost.hourly * card.times:.2f} an hour")
    return "\n\n".join(
        [
            f"## {card.title}",
            f"{card.text} [{card.folder}](../{card.folder})",
            f"![{words}](pictures/gallery/{card.name}.svg)",
            " · ".join(fact for fact in facts if fact),
            f"```sh\n{card.command.format(folder=card.folder)}\n```",
        ]
    )
