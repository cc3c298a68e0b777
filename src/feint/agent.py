"""The agent live, for someone whose rewards come from elsewhere."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from feint.bandit import check_sigma
from feint.budgets import as_budget, budget_config, budget_from_config
from feint.engine.decide import decide, known, most_pulled, scratch
from feint.engine.policy import draw_arm
from feint.engine.posterior import exact_private, likeliest, log_complement
from feint.explorers import Explorer, TopTwo, explorer_config, explorer_from_config
from feint.explorers.base import FloatArray
from feint.files import load_state, save_state
from feint.numerics._validate import as_floats, as_integers, as_number, is_whole
from feint.numerics.streams import ARM, RandomStream, check_word
from feint.references import Reference, ThompsonSampling, reference_config, reference_from_config
from feint.simulation import make_problem

_VERSION = 1
_COUNTS = ("pulls", "boosts")
_SUMS = ("public_sums", "private_sums")
_LARGEST = 1e100  # of a sum of rewards, in units of sigma: far from overflow


class Agent:
    """The agent of `simulate`, one pull at a time.

    For the same seed and rewards its pulls are the simulator's. Each arm is pulled once first, in order.

    Parameters
    ----------
    n_arms
        K, at least 2.
    epsilon
        KL budget a step: a number, math.inf, `PowerLaw` or `TotalBudget`.
    seed, replication
        Which random stream to draw from.

    Examples
    --------
    >>> agent = Agent(2, epsilon=0.1)
    >>> for public, private in [(1.0, 0.0), (0.2, 0.5), (0.9, 0.1)]:
    ...     agent.update(agent.pull(), public, private)
    >>> agent.pulls.sum()
    np.int64(3)
    >>> bool(agent.probabilities().sum().round(12) == 1)
    True
    """

    def __init__(
        self,
        n_arms: int,
        explorer: Explorer = TopTwo(),  # noqa: B008 - frozen
        reference: Reference = ThompsonSampling(),  # noqa: B008 - frozen
        *,
        epsilon: Any,
        sigma: float = 1.0,
        seed: int = 0,
        replication: int = 0,
    ) -> None:
        if not is_whole(n_arms, 2):
            raise ValueError(f"n_arms is {n_arms!r}; an agent needs a whole number of arms, 2 or more.")
        deviation = check_sigma(sigma)
        check_word(seed, "seed")
        check_word(replication, "replication")
        budget = as_budget(epsilon)
        self._config: dict[str, Any] = {
            "n_arms": int(n_arms),
            "explorer": explorer_config(explorer),
            "reference": reference_config(reference),
            "epsilon": budget_config(budget),
            "sigma": deviation,
            "seed": int(seed),
            "replication": int(replication),
        }
        self._problem = make_problem(int(n_arms), explorer, reference, budget, deviation)
        self._stream = RandomStream(int(seed), int(replication))
        self._known = known(int(n_arms))
        self._scratch = scratch(int(n_arms))
        self._boosted: int | None = None  # decided for the coming pull, counted when it is made

    @property
    def n_arms(self) -> int:
        """K."""
        return int(self._known.pulls.size)

    @property
    def time(self) -> int:
        """Pulls made."""
        return int(self._known.pulls.sum())

    @property
    def pulls(self) -> Any:
        """Pulls of each arm."""
        return self._known.pulls.copy()

    @property
    def boosts(self) -> Any:
        """Boosts of each arm."""
        return self._known.boosts.copy()

    def probabilities(self) -> FloatArray:
        """The distribution that the next pull is drawn from; in the initial round a single arm."""
        self._decide()
        return self._scratch.policy.copy()

    def reference_probabilities(self) -> FloatArray:
        """What the observer expects of the next pull; in the initial round the same single arm."""
        self._decide()
        return np.array(self._scratch.exact_reference[0])

    @property
    def boosted_arm(self) -> int | None:
        """The arm that the next pull boosts; None in the initial round."""
        self._decide()
        return self._boosted

    def pull(self) -> int:
        """The arm to pull now. Asking again before `update` gives the same arm."""
        self._decide()
        if self.time < self.n_arms:
            return self.time
        u = float(self._stream.uniforms([self.time])[0, ARM])
        assert self._boosted is not None
        return int(draw_arm(self._scratch.policy, self._boosted, most_pulled(self._known.pulls), u))

    def update(self, arm: int, public: float, private: float) -> None:
        """Record a pull and its two rewards. With `ObservedUCB`, `public` is the observer's sample."""
        if not is_whole(arm, 0, self.n_arms - 1):
            raise ValueError(
                f"arm is {arm!r}; with {self.n_arms} arms it must be a whole number from 0 to {self.n_arms - 1}. "
                "Nothing was recorded."
            )
        sums = {}
        for name, reward, known_sums in (
            ("public", public, self._known.public_sums),
            ("private", private, self._known.private_sums),
        ):
            what = (
                f"Nothing was recorded: the {name} reward must be a finite number, and its arm's sum below 1e100 sigma"
            )
            sums[name] = float(known_sums[arm]) + as_number(reward, what)
            if not abs(sums[name]) < _LARGEST * self._config["sigma"]:
                raise ValueError(f"{what}; got {reward!r}.")
        if self.time < self.n_arms and arm != self.time:
            raise ValueError(
                f"The initial round pulls every arm once in order, so arm {self.time} comes next, not {arm}. "
                "Nothing was recorded."
            )
        self._decide()
        if self._boosted is not None:
            self._known.boosts[self._boosted] += 1
        self._known.pulls[arm] += 1
        self._known.public_sums[arm] = sums["public"]
        self._known.private_sums[arm] = sums["private"]
        self._boosted = None

    @property
    def best_arm(self) -> int:
        """The arm most likely to be the best private one, after the initial round."""
        return int(likeliest(self._private_logs()))

    @property
    def confidence(self) -> float:
        """The posterior probability of `best_arm`."""
        return -math.expm1(self.log_error)

    @property
    def log_error(self) -> float:
        """log(1 − confidence), exact however small."""
        logs = self._private_logs()
        return float(log_complement(logs, likeliest(logs)))

    def state(self) -> dict[str, Any]:
        """Everything needed to go on identically, as plain JSON types."""
        arrays = {name: getattr(self._known, name).tolist() for name in (*_COUNTS, *_SUMS)}
        return {"feint_agent": _VERSION, **self._config, **arrays}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Agent":
        """The agent that `state` described."""
        if not isinstance(state, dict) or state.get("feint_agent") != _VERSION:
            raise ValueError(f"This is not the state of an agent of version {_VERSION}; save it with Agent.save.")
        try:
            agent = cls(
                state["n_arms"],
                explorer_from_config(state["explorer"]),
                reference_from_config(state["reference"]),
                epsilon=budget_from_config(state["epsilon"]),
                sigma=state["sigma"],
                seed=state["seed"],
                replication=state["replication"],
            )
            for name in _COUNTS:
                values = as_integers(state[name], f"The state is damaged: {name} must be whole numbers")
                _set_checked(getattr(agent._known, name), values, name, 2.0**53)
            for name in _SUMS:
                totals = as_floats(state[name], f"The state is damaged: {name}")
                _set_checked(getattr(agent._known, name), totals, name, _LARGEST * agent._config["sigma"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"The state is incomplete or damaged: {error!r}.") from None
        pulls, boosts, time = agent._known.pulls, agent._known.boosts, agent.time
        in_order = (pulls == (np.arange(agent.n_arms) < time)).all() if time < agent.n_arms else (pulls >= 1).all()
        if not in_order or (boosts < 0).any() or boosts.sum() != max(0, time - agent.n_arms):
            raise ValueError("The state is damaged: its pulls and boosts cannot come from an agent.")
        return agent

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the state as JSON, whole or not at all."""
        save_state(self.state(), path, force=force)

    @classmethod
    def load(cls, path: str | Path) -> "Agent":
        """Read what `save` wrote."""
        return cls.from_state(load_state(path))

    def _decide(self) -> None:
        """Fix the boosted arm and the policy of the coming pull."""
        t = self.time
        if self._boosted is not None:
            return
        if t < self.n_arms:
            self._scratch.policy[:] = 0.0
            self._scratch.policy[t] = 1.0
            self._scratch.exact_reference[0] = self._scratch.policy
            return
        a, b, c, d = (float(u) for u in self._stream.uniforms([t])[0])
        self._boosted = int(decide(self._problem, self._known, self._scratch, t, (a, b, c, d)))

    def _private_logs(self) -> FloatArray:
        if self.time < self.n_arms:
            raise ValueError("Every arm must be pulled once before there is a posterior; finish the initial round.")
        sds = self._config["sigma"] / np.sqrt(self._known.pulls)
        space = scratch(self.n_arms)
        means = self._known.private_sums / self._known.pulls
        exact_private(means, sds, space.ws, space.exact_private, space.logs)
        return space.logs


def _set_checked(target: Any, values: Any, name: str, largest: float) -> None:
    if values.shape != target.shape or not (np.abs(values) < largest).all():
        raise ValueError(f"The state is damaged: {name} do not fit {target.size} arms.")
    target[:] = values
