"""Algorithm 1 and its relatives in plain NumPy, simple and slow: no code, random numbers or quadrature of feint.

Probabilities come from the trapezoidal rule on a uniform grid of a sixth of the sharpest standard deviation, which for
products of normals converges like exp(−2π²·36): it is exact to rounding. The boost comes from bisection.
"""

import numpy as np
from scipy.special import log_ndtr


def best_arm(means, sds):
    """Return the (R, K) probabilities that each arm is the largest, row by row."""
    out = np.empty(means.shape)
    for row, (mean, sd) in enumerate(zip(means, sds, strict=True)):
        step = sd.min() / 6
        x = np.arange((mean - 9 * sd).min(), (mean + 9 * sd).max(), step)
        z = (x - mean[:, None]) / sd[:, None]
        log_cdf = log_ndtr(z)
        log_density = -(z**2) / 2 - np.log(sd[:, None] * np.sqrt(2 * np.pi))
        out[row] = np.exp(log_density + log_cdf.sum(0) - log_cdf).sum(1) * step
    return out


def kl(q, p):
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(q > 0, q * np.log(q / p), 0.0)
        right = np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - p)), 0.0)
    return left + right


def boost(p, epsilon):
    low, high = p.copy(), np.ones(p.shape)
    for _ in range(60):
        middle = (low + high) / 2
        inside = kl(middle, p) <= epsilon
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def pick(p, rng):
    return (rng.random((len(p), 1)) * p.sum(1, keepdims=True) >= p.cumsum(1)).sum(1).clip(max=p.shape[1] - 1)


def run(public, private, epsilon, horizon, replications, seed, explorer="top-two"):
    """Return (pulls, boosts, log error at the horizon), one row per replication."""
    rng = np.random.default_rng(seed)
    public, private = np.array(public), np.array(private)
    n_arms, rows = len(public), np.arange(replications)
    pulls = np.ones((replications, n_arms))
    boosts = np.zeros((replications, n_arms))
    public_sums = public + rng.standard_normal(pulls.shape)
    private_sums = private + rng.standard_normal(pulls.shape)
    for t in range(n_arms, horizon):
        sds = 1 / np.sqrt(pulls)
        if explorer == "top-two":
            p = best_arm(private_sums / pulls, sds)
            leader = pick(p, rng)
            p[rows, leader] = 0
            challenger = pick(p, rng)
            odds = pulls[rows, challenger] / (pulls[rows, challenger] + pulls[rows, leader])
            boosted = np.where(rng.random(replications) < odds, leader, challenger)
        else:
            boosted = np.full(replications, 1 + (t - n_arms) % (n_arms - 1))
        pi = best_arm(public_sums / pulls, sds)
        q = boost(pi[rows, boosted], epsilon)
        pi[rows, boosted] = 0
        pi *= ((1 - q) / pi.sum(1))[:, None]
        pi[rows, boosted] = q
        arm = pick(pi, rng)
        pulls[rows, arm] += 1
        boosts[rows, boosted] += 1
        public_sums[rows, arm] += public[arm] + rng.standard_normal(replications)
        private_sums[rows, arm] += private[arm] + rng.standard_normal(replications)
    p = best_arm(private_sums / pulls, 1 / np.sqrt(pulls))
    others = np.arange(n_arms) != np.argmax(private)
    return pulls, boosts, np.log(p[:, others].sum(1))
