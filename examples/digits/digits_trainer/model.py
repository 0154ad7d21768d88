"""A network with one hidden layer, and its gradient, on one flat vector of weights.

A single vector keeps the rest short: it is summed over the trainers, moved against its gradient, saved and
compared as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

PIXELS = 64
CLASSES = 10


@dataclass(frozen=True)
class Score:
    loss: float
    """Mean cross-entropy per example, in nats."""
    accuracy: float
    """Share of the examples whose most likely class is the right one, 0 to 1."""


@dataclass(frozen=True)
class Network:
    hidden: int
    """Units in the hidden layer."""

    @property
    def size(self) -> int:
        """Length of the vector of weights."""
        return PIXELS * self.hidden + self.hidden + self.hidden * CLASSES + CLASSES

    def initial_weights(self, seed: int) -> Array:
        """Return weights that depend on the seed alone, so that all trainers have the same."""
        weights = np.zeros(self.size)
        generator = np.random.default_rng(seed)
        first, _, second, _ = self.layers(weights)
        first[:] = generator.normal(0.0, PIXELS**-0.5, first.shape)
        second[:] = generator.normal(0.0, self.hidden**-0.5, second.shape)
        return weights

    def loss_and_gradient(self, weights: Array, images: Array, labels: Labels) -> tuple[float, Array]:
        """Return loss and gradient, SUMMED over the examples, not averaged.

        The sums over shards therefore add up to that of the batch. `images` is (examples, PIXELS), `labels`
        (examples,); without examples both are zero.
        """
        first, first_bias, second, second_bias = self.layers(weights)
        gradient = np.empty(self.size)
        d_first, d_first_bias, d_second, d_second_bias = self.layers(gradient)
        rows = np.arange(len(labels))

        activity = np.tanh(images @ first + first_bias)
        log_likelihood = _log_softmax(activity @ second + second_bias)
        error = np.exp(log_likelihood)
        error[rows, labels] -= 1.0

        d_second[:] = activity.T @ error
        d_second_bias[:] = error.sum(axis=0)
        back = (error @ second.T) * (1.0 - activity**2)
        d_first[:] = images.T @ back
        d_first_bias[:] = back.sum(axis=0)
        return -float(log_likelihood[rows, labels].sum()), gradient

    def score(self, weights: Array, images: Array, labels: Labels) -> Score:
        first, first_bias, second, second_bias = self.layers(weights)
        log_likelihood = _log_softmax(np.tanh(images @ first + first_bias) @ second + second_bias)
        loss = -log_likelihood[np.arange(len(labels)), labels].mean()
        return Score(loss=float(loss), accuracy=float((log_likelihood.argmax(axis=1) == labels).mean()))

    def layers(self, vector: Array) -> tuple[Array, Array, Array, Array]:
        """Return views into the vector: writing to them writes to it."""
        sizes = [PIXELS * self.hidden, self.hidden, self.hidden * CLASSES]
        first, first_bias, second, second_bias = np.split(vector, np.cumsum(sizes))
        return (
            first.reshape(PIXELS, self.hidden),
            first_bias,
            second.reshape(self.hidden, CLASSES),
            second_bias,
        )


def _log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result
