"""Policies in plain NumPy that draw what they say, and mutations of them that do not."""

import numpy as np

import feint

MEANS = (0.7, 0.5, 0.3)
BANDIT = feint.Bandit(MEANS, (0.0, 1.0, 2.0), family=(feint.Bernoulli(), feint.Gaussian()))


class Honest:
    """A policy that draws with the probabilities of its `law()`, and says them."""

    def __init__(self, seed=0, n_arms=3):
        self.seed, self.n_arms, self.rng = seed, n_arms, np.random.default_rng(seed)
        self.pulls, self.wins = np.zeros(n_arms), np.zeros(n_arms)
        self.step = 0

    def law(self):
        return np.full(self.n_arms, 1 / self.n_arms)

    def probabilities(self):
        return self.law()

    def pull(self):
        return self.draw(self.law())

    def draw(self, law):
        self.step += 1
        return int(min(np.searchsorted(law.cumsum(), self.rng.random(), side="right"), self.n_arms - 1))

    def update(self, arm, reward):
        self.pulls[arm] += 1
        self.wins[arm] += reward

    def means(self):
        return self.wins / np.maximum(self.pulls, 1)


class Softmax(Honest):
    temperature = 0.2

    def law(self):
        weights = np.exp(self.means() / self.temperature)
        return weights / weights.sum()


class EpsilonGreedy(Honest):
    """A policy that is greedy in half of the steps, on the last five rewards, so ties are frequent; they are random."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.recent = [[] for _ in range(self.n_arms)]

    def law(self):
        scores = np.array([sum(rewards) for rewards in self.recent])
        best = scores == scores.max()
        return 0.5 / self.n_arms + 0.5 * best / best.sum()

    def update(self, arm, reward):
        self.recent[arm] = [*self.recent[arm][-4:], reward]


class Exp3(Honest):
    share = 0.1

    def __init__(self, seed=0):
        super().__init__(seed)
        self.scores = np.zeros(self.n_arms)

    def weights(self):
        return np.exp(self.scores - self.scores.max())

    def law(self):
        weights = self.weights()
        return (1 - self.share) * weights / weights.sum() + self.share / self.n_arms

    def update(self, arm, reward):
        self.scores[arm] += self.share * reward / self.law()[arm] / self.n_arms


class Thompson(Honest):
    """Thompson Sampling with Beta posteriors and exact probabilities; what is known fades by `discount`."""

    discount, clip = 1.0, 0.0

    def __init__(self, seed=0):
        super().__init__(seed)
        self._law = None

    def law(self):
        if self._law is None:
            best = feint.beta_best_arm_probabilities(1 + self.wins, 1 + self.pulls - self.wins)
            self._law = np.maximum(best, self.clip)
            self._law /= self._law.sum()
        return self._law

    def update(self, arm, reward):
        self.pulls, self.wins, self._law = self.discount * self.pulls, self.discount * self.wins, None
        super().update(arm, reward)


class Discounted(Thompson):
    discount = 0.99


class Clipped(Thompson):
    clip = 0.05


class Contextual(Honest):
    """A policy that draws by a softmax of the context's numbers."""

    def probabilities(self, context):
        weights = np.exp(np.asarray(context))
        return weights / weights.sum()

    def pull(self, context):
        return self.draw(self.probabilities(context))

    def update(self, arm, reward, context):
        assert len(context) == self.n_arms


HONEST = (Honest, Softmax, EpsilonGreedy, Exp3, Thompson, Discounted, Clipped)


class SaysUniform(Softmax):
    def probabilities(self):
        return [1 / 3, 1 / 3, 1 / 3]


class SaysNextRow(Discounted):
    """A policy that draws its arm before it learns the last reward, and computes what it says afterwards."""

    drawn_with = None

    def pull(self):
        law, self.drawn_with = self.drawn_with, self.law()
        return self.draw(self.drawn_with if law is None else law)


class ForgetsClip(Clipped):
    """A policy that draws with clipped probabilities and says those before clipping."""

    def probabilities(self):
        return feint.beta_best_arm_probabilities(1 + self.wins, 1 + self.pulls - self.wins)


class ForgetsToClip(Thompson):
    """A policy that says clipped probabilities and draws with those before clipping."""

    def probabilities(self):
        clipped = np.maximum(self.law(), 0.05)
        return clipped / clipped.sum()


class SaysTwoDigits(Thompson):
    def probabilities(self):
        return np.round(self.law(), 2)


class ReusesSeed(Discounted):
    """A policy whose generator is seeded again every 50 steps."""

    def pull(self):
        if self.step % 50 == 0:
            self.rng = np.random.default_rng(self.seed)
        return super().pull()


class ReusesSeedOfUniform(Honest):
    """The same for a policy that learns nothing."""

    def pull(self):
        if self.step % 50 == 0:
            self.rng = np.random.default_rng(self.seed)
        return self.draw(self.law())


class BreaksTiesToFirst(EpsilonGreedy):
    """A policy that says that tied arms have equal probabilities, and pulls the first of them."""

    def pull(self):
        scores = [sum(rewards) for rewards in self.recent]
        law = np.full(self.n_arms, 0.5 / self.n_arms)
        law[int(np.argmax(scores))] += 0.5
        return self.draw(law)


class CostSoftmax(Honest):
    """A policy that draws by a softmax of −cost/T; costs are 8.64 less the reward, and all arms look good at first."""

    def logits(self):
        return (self.wins + 1) / (self.pulls + 1) / 0.08 - 108.0

    def law(self):
        weights = np.exp(self.logits() - self.logits().max())
        return weights / weights.sum()


class UnderflowsInFloat32(CostSoftmax):
    """A policy that draws rightly but says probabilities in float32, from exp(−108 …), in which the worst arm is 0."""

    def probabilities(self):
        weights = np.exp(self.logits().astype(np.float32))
        return weights / weights.sum()


MUTATIONS = (
    SaysUniform, SaysNextRow, ForgetsClip, ForgetsToClip, SaysTwoDigits, ReusesSeed, ReusesSeedOfUniform,
    BreaksTiesToFirst, UnderflowsInFloat32,
)  # fmt: skip
