"""Linear models fitted by L-BFGS: softmax regression over sparse features, logistic regression over dense ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
_SPARSE_STEPS: Final = 40
_DENSE_STEPS: Final = 300


class Vocabulary:
    """The columns of features; those seen in fewer than ``least`` examples have none."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._column: Mapping[str, int] = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, examples: Iterable[Iterable[Sequence[str]]], *, least: int = 2) -> Vocabulary:
        """The features that occur in at least that many of the examples, each a list of rows."""
        counts: Counter[str] = Counter()
        for rows in examples:
            counts.update({name for row in rows for name in row})
        return cls(sorted(name for name, count in counts.items() if count >= least))

    def __len__(self) -> int:
        return len(self.names)

    def _columns(self, row: Sequence[str]) -> list[int]:
        """In order, so that sums come out the same to the last bit."""
        return sorted(column for name in row if (column := self._column.get(name)) is not None)

    def sums(self, rows: Sequence[Sequence[str]], weights: Floats) -> Floats:
        """The sums of the weights of each row's features; the same as `matrix` times the weights, for few rows."""
        padded = np.vstack([weights, np.zeros((1, weights.shape[1]))])
        columns: list[int] = []
        starts = []
        for row in rows:
            starts.append(len(columns))
            columns.append(len(self))  # no row is empty
            columns.extend(self._columns(row))
        return np.asarray(np.add.reduceat(padded[columns], starts, axis=0), dtype=np.float64)

    def matrix(self, rows: Sequence[Sequence[str]]) -> Any:
        """The rows as a sparse matrix; a row's features count as often as they stand in it."""
        from scipy.sparse import csr_matrix

        pointers, columns = [0], []
        for row in rows:
            columns.extend(self._columns(row))
            pointers.append(len(columns))
        shape = (len(rows), len(self))
        return csr_matrix((np.ones(len(columns)), columns, pointers), shape=shape)


def softmax(scores: Floats) -> Floats:
    """The shares of the classes, row by row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def fit_softmax(rows: Any, targets: Floats, *, penalty: float, steps: int = _SPARSE_STEPS) -> tuple[Floats, Floats]:
    """The weights (feature by class) and offsets that make the targets, a distribution for each row, most likely."""
    features, classes = rows.shape[1], targets.shape[1]
    turned = rows.T.tocsr()
    count = max(1, rows.shape[0])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat[: features * classes].reshape(features, classes)
        offsets = flat[features * classes :]
        scores = rows @ weights + offsets
        scores -= scores.max(axis=1, keepdims=True)
        logs = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        difference = (np.exp(scores - logs) - targets) / count
        value = -float((targets * (scores - logs)).sum()) / count + penalty * float((weights**2).sum()) / count
        slope = np.concatenate([(turned @ difference + 2 * penalty / count * weights).ravel(), difference.sum(axis=0)])
        return value, slope

    from scipy.optimize import minimize

    start = np.zeros(features * classes + classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6})
    flat = np.asarray(found.x, dtype=np.float64)
    return flat[: features * classes].reshape(features, classes), flat[features * classes :]


def fit_logistic(rows: Floats, targets: Floats, *, penalty: float = 1.0) -> Floats:
    """The weights of a logistic regression with the offset last; the columns are taken as they come."""
    padded = np.hstack([rows, np.ones((len(rows), 1))])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = padded @ weights
        value = float(np.logaddexp(0, scores).sum() - (targets * scores).sum() + penalty * (weights[:-1] ** 2).sum())
        slope = padded.T @ (sigmoid(scores) - targets)
        slope[:-1] += 2 * penalty * weights[:-1]
        return value, slope

    from scipy.optimize import minimize

    found = minimize(loss, np.zeros(padded.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _DENSE_STEPS})
    return np.asarray(found.x, dtype=np.float64)


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + exp(-score))."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)), dtype=np.float64)
