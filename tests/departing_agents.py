"""Agents of plain NumPy with a design, an urn, a burn-in or a temperature, or that force or repeat pulls."""

import numpy as np

from planted_logs import draw

MEANS = (0.3, 0.5, 0.55)


def thompson(rng, rows, means, bend=lambda t, pi: pi, burn_in=0):
    """Return arms and rewards of Beta sampling; where it is bent, arms are drawn by the shares of 2,000 draws."""
    n_arms = len(means)
    counts = np.ones((n_arms, 2))
    arms, rewards = np.empty(rows, dtype=np.int64), np.empty(rows)
    for t in range(rows):
        best = rng.beta(counts[:, 0], counts[:, 1], (2000, n_arms)).argmax(1)
        pi = bend(t, np.bincount(best, minlength=n_arms) / 2000)
        arm = rng.integers(n_arms) if t < burn_in else rng.choice(n_arms, p=pi / pi.sum())
        rewards[t] = rng.random() < means[arm]
        counts[arm, 0 if rewards[t] else 1] += 1
        arms[t] = arm
    return arms, rewards


def blocks(rng, block, rows=1200):
    return np.concatenate([rng.permutation(block) for _ in range(rows // len(block))])


def coin(rng, p, rows=1500):
    arms, ahead = np.empty(rows, dtype=np.int64), 0  # ahead: pulls of arm 1 less those of arm 0
    for t in range(rows):
        arms[t] = rng.random() < (0.5 if ahead == 0 else p if ahead < 0 else 1 - p)
        ahead += 2 * arms[t] - 1
    return arms


def repeats(rng, n_arms, share, rows=6000):
    arms, again = rng.integers(n_arms, size=rows), rng.random(rows) < share
    for t in range(1, rows):
        arms[t] = arms[t - 1] if again[t] else arms[t]
    return arms


def alternating(rng, share, rows=1000):
    """Return pulls of two arms that alternate with this probability."""
    return (rng.integers(2) + np.cumsum(rng.random(rows) < share)) % 2


def urn(rng, rows=600):
    balls, arms, rewards = np.ones(2), np.empty(rows, dtype=np.int64), np.empty(rows)
    for t in range(rows):
        arms[t] = rng.random() >= balls[0] / balls.sum()
        rewards[t] = rng.random() < (0.3, 0.6)[arms[t]]
        balls[arms[t] if rewards[t] else 1 - arms[t]] += 1
    return arms, rewards


def treatment(rng, shape, rows=2000):
    """Return the log of a trial that logs P(arm = 1)."""
    p = 0.2 + 0.6 * rng.beta(*shape, rows)
    return (rng.random(rows) < p).astype(int), p


def exp3(rng, rows, forced):
    """Return a log of EXP3, which logs its probabilities; in some rows it pulls arm 2 whatever they are."""
    scores, arms, table = np.zeros(3), np.empty(rows, dtype=np.int64), np.empty((rows, 3))
    for t in range(rows):
        weights = np.exp(0.1 / 3 * (scores - scores.max()))
        table[t] = 0.9 * weights / weights.sum() + 0.1 / 3
        arms[t] = 2 if rng.random() < forced else draw(rng, table[t : t + 1])[0]
        scores[arms[t]] += (rng.random() < MEANS[arms[t]]) / table[t, arms[t]]
    return arms, table
