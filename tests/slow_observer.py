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
        e_values = {epsilon: mp.mpf(1) for epsilon in epsilons}
        found = []
        for arm, row in zip(arms, log_pi, strict=True):
            pi = [mp.exp(mp.mpf(x)) for x in row]
            for epsilon in epsilons:
                ratios = []
                for b in range(n_arms):
                    rest = sum(p for a, p in enumerate(pi) if a != b)
                    q = boosted(pi[b], mp.mpf(epsilon))
                    ratios.append(q / pi[b] if arm == b else (1 - q) / rest)
                total = sum(v * r for v, r in zip(weights[epsilon], ratios, strict=True))
                e_values[epsilon] *= total
                weights[epsilon] = [
                    (1 - mp.mpf(share)) * v * r / total + mp.mpf(share) / n_arms
                    for v, r in zip(weights[epsilon], ratios, strict=True)
                ]
            found.append(float(mp.log(sum(e_values.values()) / len(epsilons))))
        return found


def calibration(arms, log_pi, tilts):
    """log E after every pull."""
    with mp.workdps(40):
        n_arms = len(log_pi[0])
        e_values = {(a, tilt): mp.mpf(1) for a in range(n_arms) for tilt in tilts}
        found = []
        for arm, row in zip(arms, log_pi, strict=True):
            for a, tilt in e_values:
                p = mp.exp(mp.mpf(row[a]))
                e_values[a, tilt] *= mp.exp(mp.mpf(tilt) * (a == arm)) / (1 + p * mp.expm1(mp.mpf(tilt)))
            found.append(float(mp.log(sum(e_values.values()) / len(e_values))))
        return found
