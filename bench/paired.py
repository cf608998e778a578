"""Two programs timed in alternation, and what can be said about the ratio of their times."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Timed(Protocol):
    """Something that can run a number of times and says how long each run took."""

    def run(self, count: int) -> np.ndarray:
        """Durations in nanoseconds."""


@dataclass(frozen=True)
class Paired:
    """Medians of the bursts of both, in nanoseconds, round by round."""

    a_ns: np.ndarray
    b_ns: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """time(a) / time(b) of each round."""
        return self.a_ns / self.b_ns


def measure(a: Timed, b: Timed, seconds: float, burst_seconds: float = 0.15, rounds: int = 7) -> Paired:
    """Alternates bursts of `a` and `b` for about `seconds`, at least `rounds` times; who is first alternates too.

    In each burst the first runs are dropped: the other program has had the caches since. A burst's time is its median.
    """
    counts = [_burst_size(timed, burst_seconds) for timed in (a, b)]
    medians: list[list[float]] = [[], []]
    started = time.monotonic()
    while len(medians[0]) < rounds or time.monotonic() - started < seconds:
        order = (0, 1) if len(medians[0]) % 2 == 0 else (1, 0)
        for which in order:
            warm_up = 1 + counts[which] // 10
            times = (a, b)[which].run(warm_up + counts[which])
            medians[which].append(float(np.median(times[warm_up:])))
    return Paired(np.array(medians[0]), np.array(medians[1]))


def _burst_size(timed: Timed, burst_seconds: float) -> int:
    """Runs that fill a burst: at least 3."""
    timed.run(1)
    return max(3, int(burst_seconds * 1e9 / max(1, timed.run(3).min())))


def bootstrap_median(ratios: np.ndarray, draws: int = 4000) -> tuple[float, float]:
    """95 % interval of the median, by resampling the rounds (seeded)."""
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, (draws, len(ratios))), axis=1)
    return float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


def bootstrap_geometric_mean(rows: list[np.ndarray], draws: int = 4000) -> tuple[float, tuple[float, float]]:
    """Geometric mean of the rows' median ratios and its 95 % interval, resampling the rounds within each row."""
    rng = np.random.default_rng(0)
    logs = [np.log(np.median(rng.choice(r, (draws, len(r))), axis=1)) for r in rows]
    means = np.exp(np.mean(logs, axis=0))
    centre = float(np.exp(np.mean([np.log(np.median(r)) for r in rows])))
    return centre, (float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975)))
