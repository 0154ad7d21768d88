"""One, two and five trainers find the same model, and that of one reads digits that it has never seen."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from digits.replicas import DATA, NewJob, Replica

FEW = 3
"""Epochs that several trainers make, whose every step has to be that of one process."""


@dataclass(frozen=True)
class Trained:
    trainers: int
    epochs: int
    replicas: list[Replica]
    model_dir: Path
    checkpoint_dir: Path

    def model(self) -> dict[str, np.ndarray]:
        with np.load(self.model_dir / "model.npz") as arrays:
            return dict(arrays)

    def losses(self) -> list[float]:
        pattern = rf"^epoch (\d+)/{self.epochs} loss ([\d.]+) accuracy"
        lines = re.findall(pattern, self.replicas[0].output(), re.MULTILINE)
        assert [int(epoch) for epoch, _ in lines] == list(range(1, self.epochs + 1))
        return [float(loss) for _, loss in lines]


def train(new_job: NewJob, trainers: int, *, epochs: int = FEW) -> Trained:
    job = new_job(workers=trainers - 1)
    return Trained(trainers, epochs, job.run(f"--epochs={epochs}"), job.model_dir, job.checkpoint_dir)


@pytest.fixture(scope="module")
def alone(new_job: NewJob) -> Trained:
    """Return the result of one process with the default arguments."""
    job = new_job()
    return Trained(1, 20, job.run(), job.model_dir, job.checkpoint_dir)


@pytest.fixture(scope="module")
def briefly_alone(new_job: NewJob) -> Trained:
    return train(new_job, 1)


@pytest.fixture(scope="module", params=[2, 5], ids=lambda trainers: f"{trainers} trainers")
def trained(request: pytest.FixtureRequest, new_job: NewJob) -> Trained:
    """Return the result of so many trainers."""
    return train(new_job, request.param)


def test_loss_falls(alone: Trained) -> None:
    losses = alone.losses()
    assert losses[0] > 1.0
    assert losses[-1] < 0.1
    assert all(later < earlier for earlier, later in zip(losses[:-5], losses[5:], strict=True))


def test_it_reads_held_out_digits(alone: Trained) -> None:
    from digits_trainer.data import load, split

    _, held_out = split(load(DATA))
    model = alone.model()
    scores = np.tanh(held_out.images @ model["hidden"] + model["hidden_bias"]) @ model["output"]
    accuracy = float(((scores + model["output_bias"]).argmax(axis=1) == held_out.labels).mean())
    metrics = json.loads((alone.model_dir / "metrics.json").read_text())
    assert accuracy >= 0.93
    assert metrics["accuracy"] == accuracy
    assert 0 < metrics["loss"] < 0.3
    assert (metrics["epochs"], metrics["trainers"]) == (20, 1)
    assert metrics.keys() == {"accuracy", "loss", "epochs", "trainers"}


def test_weights_are_bit_equal_on_every_rank(trained: Trained) -> None:
    assert {replica.digest() for replica in trained.replicas} == {trained.replicas[0].digest()}
    with np.load(trained.checkpoint_dir / f"checkpoint-{FEW:04d}.npz") as last:
        assert hashlib.sha256(last["weights"].tobytes()).hexdigest() == trained.replicas[0].digest()
        assert np.array_equal(last["weights"], np.concatenate([a.ravel() for a in trained.model().values()]))


def test_weights_and_metrics_equal_those_of_one_process(trained: Trained, briefly_alone: Trained) -> None:
    for name, expected in briefly_alone.model().items():
        difference = float(np.abs(trained.model()[name] - expected).max())
        assert difference <= 1e-9, f"{name} differs by {difference}"
    assert trained.losses() == briefly_alone.losses()
    metrics = json.loads((trained.model_dir / "metrics.json").read_text())
    assert (metrics["epochs"], metrics["trainers"]) == (FEW, trained.trainers)


def test_every_trainer_has_its_share(trained: Trained) -> None:
    shares = [re.search(r"rank (\d) of (\d): (\d+) of 30 examples", r.output()) for r in trained.replicas]
    found = [[int(number) for number in match.groups()] for match in shares if match]
    assert [rank for rank, _, _ in found] == list(range(trained.trainers))
    assert {size for _, size, _ in found} == {trained.trainers}
    assert sum(examples for _, _, examples in found) == 30
    assert min(examples for _, _, examples in found) == 30 // trained.trainers


def test_one_checkpoint_per_epoch_and_nothing_else(trained: Trained) -> None:
    names = sorted(path.name for path in trained.checkpoint_dir.iterdir())
    assert names == [f"checkpoint-{epoch:04d}.npz" for epoch in range(1, FEW + 1)]
    assert sorted(path.name for path in trained.model_dir.iterdir()) == ["metrics.json", "model.npz"]


def test_more_trainers_than_examples_in_a_step(new_job: NewJob) -> None:
    arguments = ["--epochs=1", "--batch-size=2", "--hidden=4", "--learning-rate=0.01"]
    several, alone = new_job(workers=3), new_job()
    few = several.folder / "few.csv"
    few.write_bytes(b"".join(gzip.decompress(DATA.read_bytes()).splitlines(keepends=True)[:150]))
    assert len({replica.digest() for replica in several.run(*arguments, data=str(few))}) == 1
    alone.run(*arguments, data=str(few))
    with (
        np.load(several.model_dir / "model.npz") as found,
        np.load(alone.model_dir / "model.npz") as expected,
    ):
        assert max(float(np.abs(found[name] - expected[name]).max()) for name in expected) <= 1e-9


def test_a_killed_training_continues_with_another_number_of_trainers(new_job: NewJob, tmp_path: Path) -> None:
    """Compare the weights, which do not depend on the number of trainers, with an unbroken training."""
    resume = f"--resume-dir={tmp_path / 'state'}"
    replicas = new_job(workers=1).start_all(resume, "--epochs=100000")
    replicas[0].wait_for("epoch 3/")
    replicas[0].process.kill()
    for replica in replicas:
        replica.wait()
    last = max(int(epoch) for epoch in re.findall(r"^epoch (\d+)/", replicas[0].output(), re.MULTILINE))
    job, epochs = new_job(workers=2), last + 2
    ended = job.run(resume, f"--epochs={epochs}")
    continued = re.search(r"^continues after epoch (\d+)$", ended[0].output(), re.MULTILINE)
    assert continued is not None
    assert int(continued[1]) in (last - 1, last)
    assert f"epoch {int(continued[1]) + 1}/{epochs}" in ended[0].output()
    assert "epoch 1/" not in ended[0].output()
    whole, model = train(new_job, 1, epochs=epochs).model(), np.load(job.model_dir / "model.npz")
    assert all(np.allclose(model[name], whole[name], rtol=0, atol=1e-9) for name in whole)
