"""The past of a log, which is what was known before every row, is compared with plain lists."""

import json
import math

import numpy as np
import pytest

from feint.references.past import Past, Timing


class PlainPast:
    """The past as the module's docstring defines it: lists of all rewards with their weights."""

    def __init__(self, n_arms, timing):
        self.n_arms, self.timing, self.agents = n_arms, timing, {}

    def row(self, group, arm, reward, time=None, reward_time=None):
        """Return what was known before the row: counts, sums and spreads of the arms, and the row's number."""
        agent = self.agents.setdefault(group, {"made": 0, "known": [], "waiting": []})
        number, timing = agent["made"], self.timing
        if number:
            agent["known"] = [(a, r, weight * timing.discount) for a, r, weight in agent["known"]]
        still = []
        for a, r, due in agent["waiting"]:
            if due is not None and due <= (time if timing.by_time else number):
                agent["known"].append((a, r, 1.0))
            else:
                still.append((a, r, due))
        if timing.by_time:
            due = reward_time
        elif timing.batch > 1:
            due = (number // timing.batch + 1) * timing.batch
        else:
            due = number + 1 + timing.delay
        agent["waiting"] = [*still, (arm, reward, None if math.isnan(reward) else due)]
        agent["made"] += 1
        return [self._of_arm(agent["known"], a) for a in range(self.n_arms)], number

    @staticmethod
    def _of_arm(known, arm):
        mine = [(reward, weight) for a, reward, weight in known if a == arm]
        count, total = math.fsum(w for _, w in mine), math.fsum(r * w for r, w in mine)
        return count, total, math.fsum(w * (r - total / count) ** 2 for r, w in mine)


class TestPast:
    TIMINGS = (
        Timing(),
        Timing(delay=1),
        Timing(delay=7),
        Timing(delay=1000),
        Timing(batch=2),
        Timing(batch=25),
        Timing(discount=0.9),
        Timing(delay=5, discount=0.97),
        Timing(batch=10, discount=0.97),
        Timing(by_time=True),
        Timing(by_time=True, discount=0.95),
    )

    @staticmethod
    def log(seed, timing, rows=300, n_groups=5):
        """Draw a log with mixed groups, many tied times, and rewards that come late, at once, too early or never."""
        rng = np.random.default_rng(seed)
        group = rng.integers(n_groups, size=rows) * 3  # so that some agents have no rows
        arms, rewards = rng.integers(3, size=rows), rng.normal(3.0, 1.0, rows)
        if not timing.by_time:
            return group, arms, rewards, None, None
        times = np.sort(rng.integers(rows // 3, size=rows))
        due = times + rng.choice([-2, 0, 0, 1, 5, 40], size=rows)
        due[rng.random(rows) < 0.1] = np.iinfo(np.int64).max  # never
        return group, arms, rewards, times, due

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("timing", TIMINGS, ids=str)
    def test_against_lists(self, timing, seed):
        group, arms, rewards, times, due = self.log(seed, timing)
        found = Past(3, timing).rows(group, arms, rewards, times, due)
        plain = PlainPast(3, timing)
        for i in range(arms.size):
            never = timing.by_time and due[i] == np.iinfo(np.int64).max
            when = () if times is None else (times[i], None if never else due[i])
            expected, number = plain.row(group[i], arms[i], rewards[i], *when)
            assert found.numbers[i] == number
            np.testing.assert_allclose(np.array(found[:3])[:, i].T, expected, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("timing", TIMINGS, ids=str)
    def test_pieces_and_restarts_change_nothing(self, timing, seed):
        log = self.log(seed, timing)
        whole = Past(3, timing).rows(*log)
        rng = np.random.default_rng(seed)
        past, found, start = Past(3, timing), [], 0
        while start < 300:
            if rng.random() < 0.4:
                state = json.loads(json.dumps(past.state()))
                past = Past(3, timing)
                past.recall(state)
                assert past.state() == state
            end = min(300, start + int(rng.choice([1, 2, 13, 70])))
            found.append(past.rows(*(None if column is None else column[start:end] for column in log)))
            start = end
        for one, pieces in zip(whole, zip(*found, strict=True), strict=True):
            np.testing.assert_array_equal(one, np.concatenate(pieces))

    def test_rewards_far_from_0_keep_their_spread(self):
        """By Welford's method, 10⁸ ± 1 has the spread of ± 1."""
        arms, signs = np.zeros(2_000, dtype=np.int64), np.tile([1.0, -1.0], 1_000)
        found = Past(2, Timing()).rows(arms, arms, 1e8 + signs)
        assert found.spreads[-1, 0] == pytest.approx(1999 - 1 / 1999, rel=1e-7)
