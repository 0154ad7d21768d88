"""The handwritten digits: images of 8 x 8 pixels, with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .errors import InputError
from .model import CLASSES, PIXELS, Array, Labels

SIDE = 8
BRIGHTEST = 16.0
HELD_OUT = 0.2
SPLIT_SEED = 20


@dataclass(frozen=True)
class Digits:
    images: Array
    """(examples, 64), 0.0 to 1.0."""
    labels: Labels
    """(examples,), 0 to 9."""

    def __len__(self) -> int:
        return len(self.labels)


def load(path: Path) -> Digits:
    """Read a CSV file, plain or .gz, with 64 pixels of 0 to 16 and the label on each line.

    Raises InputError, which names the file and what is wrong with it.
    """
    try:
        table = np.loadtxt(path, delimiter=",", dtype=np.float64, ndmin=2)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Give --data the digits' CSV file.") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a table of numbers: {error}") from error
    if table.shape[1] != PIXELS + 1:
        raise InputError(f"{path} has {table.shape[1]} columns; {PIXELS} pixels and a label were expected.")
    images, labels = table[:, :PIXELS], table[:, PIXELS]
    if not ((images >= 0) & (images <= BRIGHTEST)).all():
        raise InputError(f"{path} has pixels outside 0 to {BRIGHTEST:g}.")
    if not np.isin(labels, np.arange(CLASSES)).all():
        raise InputError(f"{path} has labels that are not digits.")
    if np.bincount(labels.astype(np.int64), minlength=CLASSES).min() < 1 / HELD_OUT:
        raise InputError(
            f"{path} has {len(labels)} examples; at least {1 / HELD_OUT:g} of each digit are needed."
        )
    return Digits(images=images / BRIGHTEST, labels=labels.astype(np.int64))


def shifted(digits: Digits) -> Digits:
    """Return the digits, and four copies of each that are moved by one pixel."""
    padded = np.pad(digits.images.reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    moves = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)]
    images = [padded[:, 1 + y : 1 + y + SIDE, 1 + x : 1 + x + SIDE].reshape(-1, PIXELS) for y, x in moves]
    return Digits(np.concatenate(images), np.tile(digits.labels, len(moves)))


def split(digits: Digits) -> tuple[Digits, Digits]:
    """Return the training part and the held-out part, the same in every process and every run.

    A fifth of each class is held out, so that both parts have the same mixture of digits.
    """
    # RandomState, not default_rng: NumPy promises that its numbers never change between releases.
    generator = np.random.RandomState(SPLIT_SEED)
    held_out = np.zeros(len(digits), dtype=np.bool_)
    for label in range(CLASSES):
        members = np.flatnonzero(digits.labels == label)
        held_out[generator.permutation(members)[: round(len(members) * HELD_OUT)]] = True
    return (
        Digits(digits.images[~held_out], digits.labels[~held_out]),
        Digits(digits.images[held_out], digits.labels[held_out]),
    )
