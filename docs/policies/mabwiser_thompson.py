"""Policies of the package mabwiser, as `feint check` asks them."""

from mabwiser.mab import MAB, LearningPolicy

import feint


class Thompson:
    """Thompson Sampling: an arm is pulled with its probability of being the best, which feint knows exactly."""

    def start(self, n_arms):
        self.mab = MAB(list(range(n_arms)), LearningPolicy.ThompsonSampling(), seed=1)
        self.mab.fit([], [])

    def probabilities(self):
        counts = self.mab._imp.arm_to_success_count, self.mab._imp.arm_to_fail_count
        return feint.beta_best_arm_probabilities(*(list(count.values()) for count in counts))

    def pull(self):
        return self.mab.predict()

    def update(self, arm, reward):
        self.mab.partial_fit([arm], [reward])


class Softmax(Thompson):
    """Softmax: version 2.7.4 pulls the arm with the largest part of a Dirichlet draw, not one drawn by its softmax."""

    def start(self, n_arms):
        self.mab = MAB(list(range(n_arms)), LearningPolicy.Softmax(tau=0.2), seed=1)
        self.mab.fit([], [])

    def probabilities(self):
        return list(self.mab._imp.arm_to_expectation.values())
