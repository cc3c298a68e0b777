"""Make many logs of Thompson Sampling with a known departure, for the tests of the diagnosis.

An agent with Beta or normal posteriors plays R logs in lockstep. `view` says what its posteriors use (late, batched,
another sigma, …), `bend(pi, t, before, pulls)` turns its probabilities into those of the pull. What it claims is always
the same: Thompson Sampling with prior Beta(1, 1) or N(0, 1), sigma 1, and every reward known at once.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from feint import best_arm_probabilities, beta_best_arm_probabilities


@dataclass(frozen=True)
class View:
    late: int = 0
    batch: int = 1
    sigma: float = 1.0
    prior_sd: float = 1.0
    prior: tuple[float, float] = (1.0, 1.0)
    discount: float = 1.0

    def known(self, row):
        """Return how many rows have rewards that are known before `row`."""
        return np.maximum(row - self.late, 0) // self.batch * self.batch

    def log_pi(self, pulls, sums, binary):
        """Return log π from (…, K) pulls and sums of rewards."""
        if binary:
            return beta_best_arm_probabilities(self.prior[0] + sums, self.prior[1] + pulls - sums, log=True)
        precision = self.prior_sd**-2 + pulls / self.sigma**2
        return best_arm_probabilities(sums / self.sigma**2 / precision, precision**-0.5, log=True)


CLAIM = View()


def draw(rng, p):
    return (rng.random((len(p), 1)) * p.sum(1, keepdims=True) > p.cumsum(1)).sum(1).clip(max=p.shape[1] - 1)


def play(rng, n_logs, rows, means, *, binary, view=CLAIM, bend=lambda pi, t, before, pulls: pi):
    """Return arms (R, n) and rewards (R, n)."""
    n_arms = len(means)
    pulls, sums = np.zeros((2, rows + 1, n_logs, n_arms))
    arms, rewards = np.zeros((n_logs, rows), dtype=np.int64), np.zeros((n_logs, rows))
    every = np.arange(n_logs)
    pi = None
    for t in range(rows):
        known = view.known(t)
        if pi is None or known != view.known(t - 1):
            pi = np.exp(view.log_pi(pulls[known], sums[known], binary))
        arm = draw(rng, bend(pi, t, arms[:, t - 1] if t else None, pulls[t]))
        mean = np.asarray(means)[arm]
        reward = (rng.random(n_logs) < mean).astype(float) if binary else mean + rng.normal(size=n_logs)
        arms[:, t], rewards[:, t] = arm, reward
        pulls[t + 1], sums[t + 1] = view.discount * pulls[t], view.discount * sums[t]
        pulls[t + 1, every, arm] += 1
        sums[t + 1, every, arm] += reward
    return arms, rewards


def recompute(arms, rewards, n_arms, *, binary, view=CLAIM):
    """Return log π (n, K) of one log under `view`."""
    one_hot = np.eye(n_arms)[arms]
    pulls, sums = np.zeros((2, arms.size + 1, n_arms))
    if view.discount == 1:
        pulls[1:], sums[1:] = one_hot.cumsum(0), (one_hot * rewards[:, None]).cumsum(0)
    for t in range(arms.size if view.discount < 1 else 0):
        pulls[t + 1] = view.discount * pulls[t] + one_hot[t]
        sums[t + 1] = view.discount * sums[t] + one_hot[t] * rewards[t]
    known = view.known(np.arange(arms.size))
    return view.log_pi(pulls[known], sums[known], binary)


def others(binary):
    """Return the other views that a diagnosis considers: (kind, words, view)."""
    views = [("late", f"rewards known {d} rows late", View(late=d)) for d in (1, 5, 10, 20, 50, 100)]
    views += [("batched", f"rewards known in batches of {b} rows", View(batch=b)) for b in (10, 20, 50, 100)]
    views += [("discount", f"rewards discounted by {g}", View(discount=g)) for g in (0.9, 0.99, 0.999)]
    if binary:
        views += [("prior", f"prior Beta({a:g}, {b:g})", View(prior=(a, b))) for a, b in ((0.5, 0.5), (2, 2), (10, 10))]
    else:
        views += [("prior", f"prior N(0, {s:g}²)", View(prior_sd=s)) for s in (0.1, 0.3, 3.0, 10.0)]
        views += [("sigma", f"sigma {s:g}", replace(CLAIM, sigma=s)) for s in (0.5, 0.7, 1.4, 2.0)]
    return views


CLEAR = 3.0  # nats between the true kind and the next one
UNNAMED = 0.001  # share of the evidence, at most, of a kind that is not among the explanations of a diagnosis


def next_kind(diagnosis, kind):
    """Return (the likeliest kind besides `kind`, by how many nats `kind` exceeds it)."""
    shares = {explanation.kind: explanation.share for explanation in diagnosis.explanations}
    own = shares.pop(kind, UNNAMED)
    rival = max(shares, key=shares.get, default=None)
    return rival, math.log(own / max(shares.get(rival, 0.0), UNNAMED))


def count_named(kind, found):
    """Return (how many diagnoses put the kind first, how many name it and the next one, median margin, rivals).

    A kind that is 1,000 times likelier than all others has no rival worth a name.
    """
    rivals, margins = zip(*(next_kind(diagnosis, kind) for diagnosis in found), strict=True)
    right = sum(diagnosis.kind == kind for diagnosis in found)
    both = sum(
        rival is not None and any(explanation.kind == kind for explanation in diagnosis.explanations)
        for rival, diagnosis in zip(rivals, found, strict=True)
    )
    return right, both, float(np.median(margins)), Counter(rivals)


def check_named(name, kind, found, fewest):
    """Ask that at least `fewest(n)` of n diagnoses put the kind first where it exceeds the next one by 3 nats in the
    median log, and that elsewhere as many name both.
    """
    right, both, margin, rivals = count_named(kind, found)
    print(f"{name:32} rejected {len(found):3} right {right:3} both {both:3} margin {margin:6.1f} {dict(rivals)}")
    assert (right if margin >= CLEAR else both) >= fewest(len(found)), [diagnosis.words for diagnosis in found]
