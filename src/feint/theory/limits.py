r"""What the paper states, in its order: Lemmas 1 and 2, Theorem 1, and the exponent of Section 5, a heuristic.

Lemma 1 says how far a small probability can be raised, Lemma 2 how often an event happens that grows less likely each
time, and Theorem 1 joins them: how often a boosted arm is pulled. For rewards that are not normal, d_a stands in the
place of Δ_a²/2σ², and D in that of the private one (`families`). What holds at a finite time is in `rates`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from feint._types import FloatArray, IntArray, Numbers
from feint.bandit import Bandit
from feint.numerics import best_arm_probabilities
from feint.numerics._jit import kernel
from feint.numerics._threads import run_slices
from feint.numerics._validate import as_floats, check_epsilon, check_exactly_one, is_whole
from feint.numerics.streams import Word, check_word, step_uniforms
from feint.theory.instance import (
    check_families,
    check_unique_best_public,
    divergences_at,
    information,
    public_divergences,
)


def boost_limit(p: ArrayLike | None, epsilon: Numbers, *, log_p: ArrayLike | None = None) -> FloatArray:
    r"""Return ε/log(ε/p), the limit of q*(p) as p → 0 (Lemma 1, Equation 4).

    .. math:: \lim_{p \to 0} \frac{\log(\varepsilon/p)}{\varepsilon/q^*(p)} = 1

    For p far below ε it is a lower bound of q*(p), which `boost_probability` computes exactly.

    Parameters
    ----------
    p
        Probabilities below ε, any shape (...); None where `log_p` is given.
    epsilon
        (...) KL budget above 0; broadcasts against p.
    log_p
        Instead of p, (...), for probabilities below float64's range.

    Returns
    -------
    array
        It has the shape to which p and ε broadcast.

    Examples
    --------
    >>> print(f"{boost_limit(1e-6, 0.1):.6f}")
    0.008686
    >>> boost_limit(None, 0.1, log_p=[-1e3, -1e9])
    array([1.0023079e-04, 1.0000000e-10])
    """
    budget = as_floats(epsilon, "epsilon")
    check_epsilon(budget)
    check_exactly_one(p=p, log_p=log_p)
    if log_p is None:
        assert p is not None
        probability = as_floats(p, "p")
        if not ((probability > 0) & (probability <= 1)).all():
            raise ValueError(f"p is {p!r}; the limit is about probabilities above 0 and at most 1.")
        logarithm = np.log(probability)
    else:
        logarithm = as_floats(log_p, "log_p")
    if not (budget > 0).all() or not (np.log(budget) > logarithm).all():
        raise ValueError(
            f"epsilon is {epsilon!r}; ε/log(ε/p) needs 0 < p < ε, and describes q* only for p far below ε."
        )
    return np.asarray(budget / (np.log(budget) - logarithm))


def bernoulli_process(
    success: float, offset: float, times: ArrayLike, *, replications: int = 1, seed: int = 0
) -> IntArray:
    r"""Simulate Lemma 2's process: trials that succeed with probability c/(M + M_0) after M successes.

    .. math:: \lim_{T \to \infty} \frac{M_T}{\sqrt{2cT}} = 1 \quad\text{a.s.} \qquad \text{(Equation 6)}

    The waiting times between successes are geometric (the proof's X_i) and drawn as such, so that T trials cost √T
    draws. Replication r of a seed reads the first uniform of steps 0, 1, … of stream (seed, r).

    Parameters
    ----------
    success, offset
        c and M_0 with 0 < c ≤ M_0.
    times
        (n,) increasing numbers of trials T.
    replications, seed
        How many independent processes to draw, and from which random streams.

    Returns
    -------
    (replications, n) array of integers
        The successes M_T among the first T trials.

    Examples
    --------
    >>> made = bernoulli_process(1.0, 1.0, [1, 10**6, 10**10], replications=100)
    >>> made[:, 0].min(), (made.mean(0) / bernoulli_limit(1.0, [1, 10**6, 10**10])).round(2)[1:]
    (np.int64(1), array([1., 1.]))
    """
    if not 0 < success <= offset < math.inf:
        raise ValueError(f"success is {success} and offset {offset}; Lemma 2 needs 0 < c ≤ M_0.")
    trials = np.asarray(times)
    if trials.ndim != 1 or trials.dtype.kind not in "iu" or (np.diff(trials) <= 0).any() or (trials < 0).any():
        raise ValueError(f"times are {times!r}; give increasing whole numbers of trials.")
    if not is_whole(replications, 1):
        raise ValueError(f"replications is {replications!r}; it must be a whole number, 1 or more.")
    check_word(seed, "seed")
    whole = trials.astype(np.int64)
    out = np.empty((replications, trials.size), dtype=np.int64)

    def fill(start: int, stop: int) -> None:
        for replication in range(start, stop):
            _successes(success, offset, whole, np.uint64(seed), np.uint64(replication), out[replication])

    run_slices(fill, replications, smallest=1)
    return out


@kernel
def _successes(success: float, offset: float, times: IntArray, seed: Word, replication: Word, out: IntArray) -> None:
    made = 0
    row = 0
    t = 0.0
    while row < times.size:
        p = success / (made + offset)
        u = step_uniforms(seed, replication, np.uint64(made))[0]
        t += 1.0 if p >= 1.0 else math.floor(math.log(u) / math.log1p(-p)) + 1.0
        while row < times.size and times[row] < t:
            out[row] = made
            row += 1
        made += 1


def bernoulli_limit(success: float, times: ArrayLike) -> FloatArray:
    """Return √(2cT), the number of successes of Lemma 2's process after many trials (Equation 6).

    Parameters
    ----------
    success
        c, above 0.
    times
        (n,) numbers of trials T.

    Returns
    -------
    (n,) array
        What `bernoulli_process` approaches.

    Examples
    --------
    >>> bernoulli_limit(0.5, [100, 10000])
    array([ 10., 100.])
    """
    return np.asarray(np.sqrt(2.0 * success * as_floats(times, "times")))


def pull_rate(bandit: Bandit, epsilon: float) -> FloatArray:
    r"""Return lim N_{a,T}/√T for an arm that is boosted at every step (Theorem 1).

    .. math:: \lim_{T \to \infty} \frac{N_{a,T}}{\sqrt{T}} = \sqrt{\frac{4 \varepsilon \sigma^2}{(\mu_1 - \mu_a)^2}}
        = \sqrt{2\varepsilon/d_a} \quad\text{a.s.}

    with d_a the divergence from the best public arm, (μ_1 − μ_a)²/2σ² for normal rewards.

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.
    epsilon
        KL budget per step.

    Returns
    -------
    (K,) array
        The rate of each arm; ∞ for the best public arm, which is pulled nearly always.

    Examples
    --------
    >>> pull_rate(Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0]), 0.09).round(6)
    array([inf, 2. , 1. , 1.5])
    """
    check_families(bandit)
    check_unique_best_public(bandit)
    check_epsilon(as_floats(epsilon, "epsilon"))
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(2.0 * epsilon / public_divergences(bandit)))


def evidence_by_arm(bandit: Bandit, pulls: FloatArray) -> FloatArray:
    """Return E_a (`maximin_kernel`) of every arm but the best private one, in their order, (K − 1,)."""
    best, pulls = bandit.best_private, pulls * information(bandit)
    others = np.flatnonzero(np.arange(bandit.n_arms) != best)
    first, second = divergences_at(bandit, others, pulls[others] / pulls[best])
    return np.asarray(pulls[best] * first + pulls[others] * second)


def error_exponent(bandit: Bandit, pulls: ArrayLike) -> float:
    r"""Return the leading term of log(1 − p*) after given pulls (Section 5, Equation 7).

    .. math:: -\min_{a \neq 1} \frac{N_1 N_a (\Delta_a^{\mathrm{priv}})^2}{2 \sigma^2 (N_1 + N_a)}

    with 1 the best private arm; for rewards that are not normal, −min_a min_x N_1·D(μ_1, x) + N_a·D(μ_a, x).

    Parameters
    ----------
    bandit
        The instance, of which only the private side matters.
    pulls
        (K,) pulls of each arm, all above 0.

    Examples
    --------
    >>> bandit = Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])
    >>> round(error_exponent(bandit, [9000, 400, 300, 300]), 4)  # arm 2: 400·300/700·0.4²/2
    -13.7143
    """
    check_families(bandit)
    array = as_floats(pulls, "pulls")
    if array.shape != (bandit.n_arms,) or not ((array > 0) & np.isfinite(array)).all():
        raise ValueError(f"pulls are {pulls!r}; give a number above 0 for each of the {bandit.n_arms} arms.")
    return -float(evidence_by_arm(bandit, array).min())


def saturated_log_error(bandit: Bandit) -> float:
    r"""Return the limit of log(1 − p*) with `Linked` and a spread τ, where private rewards are never seen.

    .. math:: \theta_a \sim N(c_a + b_a \mu_a,\; \tau^2)

    is all that can be learnt of the private means, so the error tends to that of this posterior (docs/theory.md).

    Parameters
    ----------
    bandit
        The instance, whose private means are given.

    Examples
    --------
    >>> from feint.feedback import Linked
    >>> bandit = Bandit([1.0, 0.0], [0.0, 1.0], feedback=Linked([0, 0], [-1, -1], 1.0))  # Φ(−1/√2)
    >>> round(math.exp(saturated_log_error(bandit)), 6)
    0.23975
    """
    feedback = bandit.feedback
    if feedback is None or not feedback.spread:
        raise ValueError(f"The error of {bandit} tends to 0; give an instance whose feedback has a spread.")
    if bandit.draws_private:
        raise ValueError("Every replication draws private means of its own; give the instance its private means.")
    means = np.array(feedback.private_means(bandit.public))
    logs = best_arm_probabilities(means, np.full(means.size, feedback.spread), log=True)
    return float(np.logaddexp.reduce(np.delete(logs, bandit.best_private)))
