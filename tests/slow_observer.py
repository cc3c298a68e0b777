"""The observer's test in 40-digit arithmetic, from its formulas: no code of feint, no logarithms, no scaling."""

import functools
import itertools

import mpmath as mp

from oracles import bernoulli_kl


def boosted(p, epsilon):
    """Return q*(p) by bisection."""
    if -mp.log(p) <= epsilon:
        return mp.mpf(1)
    low, high = p, mp.mpf(1)
    for _ in range(130):
        middle = (low + high) / 2
        if bernoulli_kl(middle, mp.log(p)) <= epsilon:
            low = middle
        else:
            high = middle
    return low


@functools.cache
def node(i, epsilon):
    """Return q* at log(1 − log p) = i/64, the nodes between which the test interpolates linearly."""
    return boosted(mp.exp(-mp.expm1(mp.mpf(i) / 64)), mp.mpf(epsilon))


def bets_on(log_p, epsilon):
    """Return the value that the test uses for q*."""
    place = mp.log1p(-mp.mpf(log_p)) * 64
    i = int(place)
    return node(i, epsilon) + (place - i) * (node(i + 1, epsilon) - node(i, epsilon))


def boost_mixture(arms, log_pi, stakes, share, within=0.0):
    """Return log E after every pull; `stakes` maps ε to its stake.

    Experts: each arm, each pair of arms with the shares of Algorithm 1, and all arms in proportion to 1/N.
    """
    with mp.workdps(40):
        n_arms = len(log_pi[0])
        pairs = list(itertools.combinations(range(n_arms), 2)) if n_arms <= 12 else []
        prior = [mp.mpf("0.24") / n_arms] * n_arms + [mp.mpf("0.3") / len(pairs)] * len(pairs) + [mp.mpf("0.46")]
        prior = [weight / sum(prior) for weight in prior]
        weights = dict.fromkeys(stakes, prior)
        e_values = {epsilon: mp.mpf(0) for epsilon in stakes}
        pulls, found = [1] * n_arms, []
        for t, (arm, row) in enumerate(zip(arms, log_pi, strict=True)):
            held_before = mp.mpf("0.5") / mp.log(t + 2, 2) if t else mp.mpf(1)
            held = mp.mpf("0.5") / mp.log(t + 3, 2)
            for epsilon, stake in stakes.items():
                single = []
                for b in range(n_arms):
                    p, rest, q = mp.exp(mp.mpf(row[b])), -mp.expm1(mp.mpf(row[b])), bets_on(row[b], epsilon)
                    likely, unlikely = q / p, (1 - q) / rest
                    # The worst of the probabilities within the share of p, and within that of 1 − p.
                    more = min(mp.mpf(within) * p, mp.mpf(within) * rest)
                    worst = (p + more) * likely + (rest - more) * unlikely
                    single.append((likely if arm == b else unlikely) / worst)
                ratios = single + [
                    (pulls[j] * single[i] + pulls[i] * single[j]) / mp.mpf(pulls[i] + pulls[j]) for i, j in pairs
                ]
                inverse = [1 / mp.mpf(n) for n in pulls]
                ratios.append(sum(x * r for x, r in zip(inverse, single, strict=True)) / sum(inverse))
                total = sum(v * r for v, r in zip(weights[epsilon], ratios, strict=True))
                released = (held_before - held) * mp.mpf(stake) / mp.mpf(sum(stakes.values()))
                e_values[epsilon] = (e_values[epsilon] + released) * total
                weights[epsilon] = [
                    (1 - mp.mpf(share)) * v * r / total + mp.mpf(share) * first
                    for v, r, first in zip(weights[epsilon], ratios, prior, strict=True)
                ]
            pulls[arm] += 1
            found.append(float(mp.log(held + sum(e_values.values()))))
        return found


def calibration(arms, log_pi, tilts, lambdas, within=0.0):
    """Return log E after every pull; `tilts` maps a size to its weight."""
    with mp.workdps(40):
        n_arms = len(log_pi[0])
        signed = {(a, sign * size): weight for a in range(n_arms) for size, weight in tilts.items() for sign in (1, -1)}
        tilted = dict.fromkeys(signed, mp.mpf(1))
        bets = {(a, x): mp.mpf(1) for a in range(n_arms) for size in lambdas for x in (size, -size)}
        found = []
        for arm, row in zip(arms, log_pi, strict=True):
            pi = [mp.exp(mp.mpf(x)) for x in row]
            allowed = [mp.mpf(within) * min(p, -mp.expm1(mp.mpf(x))) for p, x in zip(pi, row, strict=True)]
            for a, tilt in tilted:
                p = pi[a] + (allowed[a] if tilt > 0 else -allowed[a])
                tilted[a, tilt] *= mp.exp(mp.mpf(tilt) * (a == arm)) / (1 + p * mp.expm1(mp.mpf(tilt)))
            for a, x in bets:
                bets[a, x] *= (1 + mp.mpf(x) * ((a == arm) - pi[a])) / (1 + abs(mp.mpf(x)) * allowed[a])
            mean = sum(signed[key] * value for key, value in tilted.items()) / sum(signed.values())
            found.append(float(mp.log((5 * mean + 2 * sum(bets.values()) / len(bets)) / 7)))
        return found
