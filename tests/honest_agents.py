"""Agents that do what they claim: they draw from their posteriors, many logs in lockstep, without any code of feint.

`arrival(rng, row, n_logs)` returns the row before which each log's reward of `row` becomes known (`NEVER`: it does
not), and `choose(rng, seen, row)` draws the arms from what is known. All that is known fades by `discount` per row.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

NEVER = 10**9


@dataclass
class Seen:
    """What each log's agent knows, as arrays (R, K): the number of rewards, their sum and the sum of their squares."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray


def at_once(rng, row, n_logs):
    return np.full(n_logs, row + 1)


def late(delay):
    return lambda rng, row, n_logs: np.full(n_logs, row + 1 + delay)


def batched(batch):
    return lambda rng, row, n_logs: np.full(n_logs, (row // batch + 1) * batch)


def play(rng, n_logs, rows, n_arms, choose, reward, arrival=at_once, discount=1.0):
    """Return arms, rewards, and the rows from which each reward is known: (R, n) each."""
    seen = Seen(*np.zeros((3, n_logs, n_arms)))
    arms, known_from = np.zeros((2, n_logs, rows), dtype=np.int64)
    rewards = np.zeros((n_logs, rows))
    due = {}
    for row in range(rows):
        for table in (seen.counts, seen.sums, seen.squares):
            table *= discount
        for logs, of_row in due.pop(row, []):
            arm, value = arms[logs, of_row], rewards[logs, of_row]
            seen.counts[logs, arm] += 1
            seen.sums[logs, arm] += value
            seen.squares[logs, arm] += value**2
        arms[:, row] = choose(rng, seen, row)
        rewards[:, row] = reward(rng, arms[:, row])
        known_from[:, row] = arrival(rng, row, n_logs)
        for moment in np.unique(known_from[:, row]):
            due.setdefault(int(moment), []).append((np.flatnonzero(known_from[:, row] == moment), row))
    return arms, rewards, known_from


def flips(rates):
    return lambda rng, arms: (rng.random(arms.size) < np.asarray(rates)[arms]).astype(float)


def noisy(means, sigma=1.0):
    return lambda rng, arms: np.asarray(means)[arms] + sigma * rng.normal(size=arms.size)


def draw(rng, p):
    return (rng.random((len(p), 1)) * p.sum(1, keepdims=True) > p.cumsum(1)).sum(1).clip(max=p.shape[1] - 1)


def after_a_round(choose, least=1):
    """Return a rule that pulls arms in turn for one round and until `least` rewards of every arm are known."""

    def chosen(rng, seen, row):
        n_arms = seen.counts.shape[1]
        ready = (seen.counts.min(1) > least - 1) & (row >= n_arms)
        arms = np.full(len(ready), row % n_arms)
        if ready.any():
            some = Seen(seen.counts[ready], seen.sums[ready], seen.squares[ready])
            arms[ready] = choose(rng, some, row)
        return arms

    return chosen


def beta_sampling(prior=(1.0, 1.0)):
    wins, losses = np.asarray(prior, dtype=float).T
    return lambda rng, seen, row: rng.beta(wins + seen.sums, losses + seen.counts - seen.sums).argmax(1)


def normal_posterior(seen, sigma, prior):
    """Return means and standard deviations of the posterior; the default prior is flat."""
    mean, sd = (0.0, np.inf) if prior is None else np.asarray(prior, dtype=float).T
    precision = seen.counts / sigma**2 + 1 / sd**2
    return (seen.sums / sigma**2 + mean / sd**2) / precision, precision**-0.5


def normal_sampling(sigma=1.0, prior=None):
    def choose(rng, seen, row):
        return rng.normal(*normal_posterior(seen, sigma, prior)).argmax(1)

    return choose if prior is not None else after_a_round(choose)


def two_arms(change):
    """Return Thompson Sampling for two arms with a flat prior and sigma 1, whose probability of arm 1 is changed by
    `change(p, row)`.
    """

    def choose(rng, seen, row):
        means, sds = normal_posterior(seen, 1.0, None)
        second = change(ndtr((means[:, 1] - means[:, 0]) / np.hypot(sds[:, 0], sds[:, 1])), row)
        return (rng.random(len(second)) < second).astype(int)

    return after_a_round(choose)


def clipped_sampling(low):
    return two_arms(lambda p, row: p.clip(low, 1 - low))


def tempered_sampling(power):
    """Return tempered Thompson Sampling; `power(row)` is the exponent."""
    return two_arms(lambda p, row: p ** power(row) / (p ** power(row) + (1 - p) ** power(row)))


def top_two_sampling(beta, prior=(1.0, 1.0)):
    """Return top-two sampling, which draws until another arm is the best."""
    wins, losses = prior

    def choose(rng, seen, row):
        def best(logs):
            return rng.beta(wins + seen.sums[logs], losses + (seen.counts - seen.sums)[logs]).argmax(1)

        arms = best(np.arange(len(seen.sums)))
        again = np.flatnonzero(rng.random(arms.size) >= beta)
        first = arms.copy()
        while again.size:
            arms[again] = best(again)
            again = again[arms[again] == first[again]]
        return arms

    return choose


def scored_sampling(weights, costs, explore=1.0, normal_prior=None):
    """Return a rule that pulls by weight·draw − cost; otherwise by the means, ties at random. Priors are Beta(1, 1), or
    normal (mean, sd) with a noise of sd 1.
    """

    def choose(rng, seen, row):
        if normal_prior is None:
            wins, losses = 1 + seen.sums, 1 + seen.counts - seen.sums
            draws, means = rng.beta(wins, losses), wins / (wins + losses)
        else:
            means, sds = normal_posterior(seen, 1.0, normal_prior)
            draws = rng.normal(means, sds)
        drawn = (weights * draws - costs).argmax(1)
        scores = weights * means - costs
        tied = scores == scores.max(1, keepdims=True)
        return np.where(rng.random(len(drawn)) < explore, drawn, (tied * rng.random(tied.shape)).argmax(1))

    return choose


def holdout(choose, arm, share):
    return lambda rng, seen, row: np.where(rng.random(len(seen.sums)) < share, arm, choose(rng, seen, row))


def control_share(arm, share):
    """Return a rule with a fixed share for one arm; the others are drawn by Beta(1, 1) posteriors."""

    def choose(rng, seen, row):
        drawn = rng.beta(1 + seen.sums, 1 + seen.counts - seen.sums)
        drawn[:, arm] = -1
        return np.where(rng.random(len(drawn)) < share, arm, drawn.argmax(1))

    return choose


def play_the_winner(initial, success, failure):
    def choose(rng, seen, row):
        failures = seen.counts - seen.sums
        others = (failures.sum(1, keepdims=True) - failures) / (failures.shape[1] - 1)
        return draw(rng, initial + success * seen.sums + failure * others)

    return choose


def permuted_blocks(sizes, ratio, weights):
    """Return a rule that shuffles one block after the other."""
    left = {}

    def choose(rng, seen, row):
        arms = []
        for log in range(len(seen.sums)):
            if row == 0 or not left[log]:
                quotas = np.array(ratio) * rng.choice(sizes, p=weights) // sum(ratio)
                left[log] = rng.permutation(np.repeat(np.arange(len(ratio)), quotas)).tolist()
            arms.append(left[log].pop())
        return np.array(arms)

    return choose


def biased_coin(p, mti=NEVER):
    made = {}

    def choose(rng, seen, row):
        if row == 0:
            made[0] = np.zeros(len(seen.sums))
        ahead = made[0]  # of arm 0
        chance = np.where(ahead == 0, 0.5, np.where(ahead > 0, 1 - p, p))
        chance = np.where(ahead >= mti, 0.0, np.where(ahead <= -mti, 1.0, chance))
        arms = (rng.random(ahead.size) >= chance).astype(int)
        made[0] = ahead + np.where(arms == 0, 1, -1)
        return arms

    return choose


def unknown_sigma_sampling(prior=None):
    """Return a rule that draws the variance, then the mean; the prior is (mean, pulls, shape, scale), or 1/σ²."""
    mean, pulls, shape, scale = (0.0, 0.0, -0.5, 0.0) if prior is None else prior

    def choose(rng, seen, row):
        total = seen.counts + pulls
        location = (seen.sums + pulls * mean) / total
        # Σ (r − location)² + pulls·(mean − location)²
        rest = seen.squares - 2 * location * seen.sums + seen.counts * location**2 + pulls * (mean - location) ** 2
        variance = (scale + rest / 2) / rng.gamma(shape + seen.counts / 2)
        return rng.normal(location, np.sqrt(variance / total)).argmax(1)

    return choose if prior is not None else after_a_round(choose, least=2)


def softmax(temperature):
    def choose(rng, seen, row):
        return draw(rng, np.exp(seen.sums / seen.counts / temperature))

    return after_a_round(choose)


def epsilon_greedy(epsilon):
    def choose(rng, seen, row):
        best = (seen.sums / seen.counts).argmax(1)
        return np.where(rng.random(len(best)) < epsilon, rng.integers(seen.counts.shape[1], size=len(best)), best)

    return after_a_round(choose)


def reward_times(rng, row, n_logs):
    """Return times of rewards that are late by a few rows, or never known."""
    return np.where(rng.random(n_logs) < 0.1, NEVER, row + 1 + rng.integers(40, size=n_logs))
