"""Algorithm 1 of the paper, line by line: the slow and obvious version, to hold beside the page.

Its probabilities are feint's exact ones, and its random draws are arguments: `simulate` with the same draws pulls the
same arms.
"""

import numpy as np

import feint


def draw(weights, u, order=None):
    """Return the arm on which u falls when (0, 1) is cut into pieces in proportion to the weights, in this order."""
    order = np.arange(len(weights)) if order is None else np.array(order)
    return int(order[np.searchsorted(np.cumsum(weights[order]), u * weights.sum(), side="right")])


def algorithm_1(bandit, epsilon, delta, uniforms, normals):
    """Return the arms pulled, one per step, and the recommendation; `uniforms` is (T, 4), `normals` (T, 2) or wider."""
    arms, means, every = [], np.array([bandit.public, bandit.private]), np.arange(bandit.n_arms)
    pulls, sums = np.zeros(bandit.n_arms), np.zeros((2, bandit.n_arms))  # line 1: improper priors
    best = np.full(bandit.n_arms, 1 / bandit.n_arms)  # P(arm is the best private one)
    for t, u in enumerate(uniforms):  # line 2
        if t < bandit.n_arms:
            arm = t  # an improper prior becomes a posterior with the first reward
        else:
            leader = draw(best, u[0])  # lines 3 and 4: P(θ_a = max θ), which is where argmax θ falls
            challenger = draw(np.where(every == leader, 0.0, best), u[1])  # line 5
            n_l, n_c = pulls[leader], pulls[challenger]
            boosted = leader if u[2] * (n_c + n_l) < n_c else challenger  # line 6
            pi = feint.best_arm_probabilities(sums[0] / pulls, bandit.sigma / np.sqrt(pulls))  # line 7
            policy = feint.boost(pi, boosted, epsilon)  # line 8
            most = pulls.argmax()  # any order has the same law; the engine's: boosted first, most pulled last
            arm = draw(policy, u[3], sorted(every, key=lambda a: (a == most, a != boosted, a)))  # line 9
        arms.append(arm)
        pulls[arm] += 1
        sums[:, arm] += means[:, arm] + bandit.sigma * normals[t, :2]  # line 10
        if t >= bandit.n_arms - 1:
            best = feint.best_arm_probabilities(sums[1] / pulls, bandit.sigma / np.sqrt(pulls))
            if 1 - best.max() <= delta:  # line 11
                break
    return arms, int(best.argmax())  # line 12
