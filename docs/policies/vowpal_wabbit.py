"""A contextual policy of Vowpal Wabbit, as `feint check` asks it."""

import random

import vowpalwabbit

people = [{"young": 1}, {"old": 1}, {"young": 1, "abroad": 1}]


class VowpalWabbit:
    def __init__(self):
        self.draws = random.Random(1)

    def start(self, n_arms):
        self.vw = vowpalwabbit.Workspace(f"--cb_explore {n_arms} --epsilon 0.2 --quiet")

    def probabilities(self, context):
        self.pmf = self.vw.predict(written(context))
        return self.pmf

    def pull(self, context):
        return self.draws.choices(range(len(self.pmf)), self.pmf)[0]

    def update(self, arm, reward, context):
        self.vw.learn(f"{arm + 1}:{-reward}:{self.pmf[arm]} {written(context)}")


def written(context):
    """Return a context in the format of Vowpal Wabbit."""
    return "| " + " ".join(f"{name}:{value}" for name, value in context.items())
