"""Exp3 of the package river, as `feint check` asks it."""

from river import bandit


class RiverExp3:
    def __init__(self):
        self.policy = bandit.Exp3(gamma=0.1, seed=1)

    def start(self, n_arms):
        self.arms = list(range(n_arms))

    def probabilities(self):
        weights = [self.policy._weights[arm] for arm in self.arms]
        gamma = self.policy.gamma
        return [(1 - gamma) * weight / sum(weights) + gamma / len(self.arms) for weight in weights]

    def pull(self):
        return self.policy.pull(self.arms)

    def update(self, arm, reward):
        self.policy.update(arm, reward)
