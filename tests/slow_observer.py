"""The observer's test in 40-digit arithmetic, as it is written down: no code of ours, no logarithms, no scaling."""

import mpmath as mp

from oracles import bernoulli_kl


def boosted(p, epsilon):
    """q*(p) by bisection."""
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


def boost_mixture(arms, log_pi, epsilons, share):
    """log E after every pull."""
    with mp.workdps(40):
        n_arms = len(log_pi[0])
        weights = {epsilon: [mp.mpf(1) / n_arms] * n_arms for epsilon in epsilons}
        e_values = {epsilon: mp.mpf(0) for epsilon in epsilons}
        found = []
        for t, (arm, row) in enumerate(zip(arms, log_pi, strict=True)):
            held_before, held = 1 / mp.log(t + 2, 2), 1 / mp.log(t + 3, 2)
            pi = [mp.exp(mp.mpf(x)) for x in row]
            for epsilon in epsilons:
                ratios = []
                for b in range(n_arms):
                    rest = sum(p for a, p in enumerate(pi) if a != b)
                    q = boosted(pi[b], mp.mpf(epsilon))
                    ratios.append(q / pi[b] if arm == b else (1 - q) / rest)
                total = sum(v * r for v, r in zip(weights[epsilon], ratios, strict=True))
                e_values[epsilon] = (e_values[epsilon] + (held_before - held) / len(epsilons)) * total
                weights[epsilon] = [
                    (1 - mp.mpf(share)) * v * r / total + mp.mpf(share) / n_arms
                    for v, r in zip(weights[epsilon], ratios, strict=True)
                ]
            found.append(float(mp.log(held + sum(e_values.values()))))
        return found


def calibration(arms, log_pi, tilts, lambdas):
    """log E after every pull."""
    with mp.workdps(40):
        n_arms = len(log_pi[0])
        tilted = {(a, tilt): mp.mpf(1) for a in range(n_arms) for tilt in tilts}
        bounded = {(a, x): mp.mpf(1) for a in range(n_arms) for size in lambdas for x in (size, -size)}
        found = []
        for arm, row in zip(arms, log_pi, strict=True):
            for a, tilt in tilted:
                p = mp.exp(mp.mpf(row[a]))
                tilted[a, tilt] *= mp.exp(mp.mpf(tilt) * (a == arm)) / (1 + p * mp.expm1(mp.mpf(tilt)))
            for a, x in bounded:
                surprise = (a == arm) - mp.exp(mp.mpf(row[a]))
                bounded[a, x] *= mp.exp(x * surprise + (mp.log(1 - abs(x)) + abs(x)) * surprise**2)
            means = [sum(part.values()) / len(part) for part in (tilted, bounded)]
            found.append(float(mp.log(sum(means) / 2)))
        return found
