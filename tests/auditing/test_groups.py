"""Groups that arrive one after another: weights by arrival, e-BH by them at every row, and the bet on all of them."""

import csv
import itertools
import json
import math
import re

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import feint
from feint.auditing.arms import LogArms
from feint.auditing.auditor import Auditor
from feint.auditing.chunks import make_chunk
from feint.auditing.claim import Claim, Names
from feint.auditing.columns import choose_columns
from feint.auditing.modes import make_mode
from feint.auditing.readers.arrays import ArrayLog
from feint.cli import app
from feint.evidence.group_tilts import GroupTilts, log_arrival_weights, select_groups

TILTS = np.array([0.1, 0.4, 1.2, 3.0, -0.1, -0.4, -1.2, -3.0])
LEVEL = 0.05
HALF = np.log([0.5, 0.5])


def weight(rank):
    """Return γ of the group that is the rank-th to arrive, counted from 1, by its definition."""
    return 1 / math.log2(rank + 1) - 1 / math.log2(rank + 2)


def plain_e(arms, pi):
    """Return E of a group after its rows, by products; `pi` is (n, K)."""
    arms, pi = np.asarray(arms, dtype=int), np.asarray(pi)
    drawn = arms[:, None] == np.arange(pi.shape[1])
    factors = np.exp(TILTS * drawn[..., None]) / (1 + pi[..., None] * np.expm1(TILTS))
    return factors.prod(axis=0).mean()


def test_weights():
    for n in (1, 7, 1_000):
        assert np.exp(log_arrival_weights(n)) == pytest.approx([weight(j) for j in range(1, n + 1)], rel=1e-9)
        assert np.exp(log_arrival_weights(n)).sum() == pytest.approx(1 - 1 / math.log2(n + 2), rel=1e-12)
    assert np.exp(log_arrival_weights(5, 3)).tolist() == pytest.approx([1 / 3] * 3 + [0] * 2)


def test_e_bh_by_weights_by_hand():
    """The largest k for which k groups have γ·E ≥ 1/(αk), over all k and all sets of groups."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        weighted = np.array([weight(j) for j in range(1, n + 1)]) * np.exp(rng.normal(3, 4, n))
        most = max((k for k in range(1, n + 1) if (weighted >= 1 / (LEVEL * k)).sum() >= k), default=0)
        found = select_groups(np.log(weighted), LEVEL)
        assert sorted(found) == sorted(np.argsort(-weighted)[:most])
        assert (np.diff(weighted[found]) <= 0).all()


class TestSmallLogs:
    """Enumerate every log of a few rows, with a group that arrives only if arm 1 was pulled before."""

    ROWS = 6
    PI = np.array([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])  # by group

    def groups(self, arms):
        """Return the group of every row so far and of the next one, which is known before its pull."""
        found = [0]
        for t in range(len(arms)):
            met = max(found) + 1
            found.append(min(met, 2) if arms[t] == 1 else t % met)
        return np.array(found)

    def chance(self, arms):
        return math.prod(self.PI[g][a] for g, a in zip(self.groups(arms), arms, strict=False))

    def after(self, arms, n_groups=None):
        """Return the test after these pulls."""
        test, groups = GroupTilts(2, n_groups=n_groups), self.groups(arms)[: len(arms)]
        log_m = test.extend(groups, np.array(arms, dtype=np.int64), np.log(self.PI[groups]))
        return test, log_m

    @pytest.mark.parametrize("n_groups", [None, 3, 5])
    def test_the_bet_on_all_groups_is_fair_at_every_node(self, n_groups):
        for n in range(self.ROWS):
            for arms in itertools.product((0, 1), repeat=n):
                now = math.exp(self.after(arms, n_groups)[0].log_e_value)
                pi = self.PI[self.groups(arms)[-1]]
                after = [math.exp(self.after((*arms, a), n_groups)[1][-1]) for a in (0, 1)]
                assert pi @ after == pytest.approx(now, rel=1e-12)

    def test_it_is_what_the_formula_says(self):
        for arms in itertools.product((0, 1), repeat=self.ROWS):
            groups, pulled = self.groups(arms)[: self.ROWS], np.array(arms)
            found = 1.0
            for g in np.unique(groups):
                e = plain_e(pulled[groups == g], np.tile(self.PI[g], ((groups == g).sum(), 1)))
                found += weight(g + 1) * (e - 1)
            assert self.after(arms)[1][-1] == pytest.approx(math.log(found), abs=1e-12)

    def test_the_mean_of_the_whole_e_value_is_at_most_1(self):
        """Exactly: every log by its probability, at every length."""
        for n in range(1, self.ROWS + 1):
            mean = 0.0
            for arms in itertools.product((0, 1), repeat=n):
                groups = self.groups(arms)[:n]
                report = feint.audit(arms, probabilities=self.PI[groups], groups=groups, explain=False)
                mean += self.chance(arms) * math.exp(report.log_e_value)
            assert 0.9 < mean <= 1 + 1e-12

    @pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7, 0.9])
    def test_naming_any_at_any_row(self, alpha):
        """All keep their claims: the exact probability that some row names some group, and of wrong ones at the end."""
        ever = 0.0
        for arms in itertools.product((0, 1), repeat=self.ROWS):
            named = [self.after(arms[:n])[0].name_groups(alpha).size for n in range(1, self.ROWS + 1)]
            ever += self.chance(arms) * any(named)
        assert ever <= alpha
        assert ever > 0 or alpha < 0.5


class TestArrival:
    """Honest groups of 600 rows arrive one after another, and E is read after every row."""

    @pytest.mark.parametrize(("n_groups", "logs"), [(10, 1_000), pytest.param(100, 400, marks=pytest.mark.slow)])
    def test_some_honest_group_is_named_with_probability_alpha_at_most(self, n_groups, logs):
        """What is named grows with the current group's E, so a look where it is highest finds all that a look after
        every row does. The test fails wrongly with probability 1e-6 at most; G = groups so far had 0.083 and 0.139.
        """
        rng = np.random.default_rng(n_groups)
        named = sum(self.ever_named(rng, n_groups) for _ in range(logs))
        assert named <= stats.binom.isf(1e-6, logs, LEVEL)

    def ever_named(self, rng, n_groups, rows=600):
        arms = rng.integers(2, size=(n_groups, rows))
        steps = -np.log1p(0.5 * np.expm1(TILTS))
        count = arms.cumsum(axis=1)[..., None]
        length = np.arange(1, rows + 1)[:, None]
        paths = np.exp(length * steps + count * TILTS) + np.exp(length * steps + (length - count) * TILTS)
        highest = paths.sum(axis=-1).argmax(axis=1) + 1
        test, log_pi = GroupTilts(2), np.tile(HALF, (rows, 1))
        for g in range(n_groups):
            for part in (arms[g, : highest[g]], arms[g, highest[g] :]):
                test.extend(np.full(part.size, g), part, log_pi[: part.size])
                if test.name_groups(LEVEL).size:
                    return True
        return False


class TestWholeLog:
    @staticmethod
    def log(rng, bent, users=300, rows=40):
        groups = rng.permutation(np.repeat(np.arange(users), rows))
        arms = rng.integers(2, size=groups.size)
        arms[groups == bent] = 1
        return arms, groups, np.full((groups.size, 2), 0.5)

    def test_one_bent_user_among_300_rejects_it(self):
        for seed in range(5):
            arms, groups, pi = self.log(np.random.default_rng(seed), bent=150)
            assert not feint.audit(arms, probabilities=pi).rejected
            report = feint.audit(arms, probabilities=pi, groups=groups)
            assert report.rejected
            assert [group.group for group in report.groups if group.named] == ["150"]
            assert report.log_e_values["groups"] > math.log(20 / 0.1)

    def test_honest_logs(self):
        """At most α of them are rejected; this fails wrongly with probability 1e-6 at most."""
        rng = np.random.default_rng(9)
        rejected = 0
        for _ in range(200):
            arms, groups, pi = self.log(rng, bent=-1, users=30, rows=30)
            rejected += feint.audit(arms, probabilities=pi, groups=groups, explain=False).rejected
        assert rejected <= stats.binom.isf(1e-6, 200, LEVEL)

    def test_parts_make_the_whole(self):
        arms, groups, pi = self.log(np.random.default_rng(1), bent=3, users=20)
        parts = (report := feint.audit(arms, probabilities=pi, groups=groups)).log_e_values
        e = {name: math.exp(value) for name, value in parts.items()}
        pulls = 0.3 * e["boosts"] + 0.7 * e["calibration"]
        whole = 0.9 * (0.95 * pulls + 0.05 * e["serial"]) + 0.1 * e["groups"]
        assert math.exp(report.log_e_value) == pytest.approx(whole, rel=1e-9)
        assert report.confidence == "99.145 % intervals, at all rows"

    def test_without_a_test_of_groups_only_the_bet_on_serial_dependence_uses_them(self):
        rng = np.random.default_rng(2)
        given = {"propensities": np.full(300, 1 / 3), "n_arms": 3}
        arms = rng.integers(3, size=300)
        alone, grouped = (feint.audit(arms, **given, **more) for more in ({}, {"groups": np.arange(300) % 7}))
        assert alone.log_e_values["boosts"] == grouped.log_e_values["boosts"]
        assert alone.log_e_values["serial"] != grouped.log_e_values["serial"]
        assert "groups" not in grouped.log_e_values

    def test_a_fall_keeps_its_digits(self):
        """One group rises to 10^60 and falls below 1: what is left is not the rounding error of 10^60."""
        rows = 215
        arms = np.concatenate([np.ones(rows), np.zeros(4 * rows)]).astype(np.int64)
        arms = np.concatenate([arms, np.ones(3 * rows, dtype=np.int64)])
        test = GroupTilts(2)
        log_m = test.extend(np.zeros(arms.size, dtype=np.int64), arms, np.tile(HALF, (arms.size, 1)))
        assert log_m.max() > math.log(1e50)
        log_e = test.log_e_values()[0]
        assert log_m[-1] == pytest.approx(math.log1p(weight(1) * math.expm1(log_e)), rel=1e-9)


class TestNumberOfGroups:
    def test_weights_are_even(self):
        rng = np.random.default_rng(3)
        arms, groups = rng.integers(2, size=400), np.arange(400) % 10
        arms[groups == 9] = 1
        pi = np.full((400, 2), 0.5)
        report = feint.audit(arms, probabilities=pi, groups=groups, n_groups=20)
        e = [plain_e(arms[groups == g], pi[groups == g]) for g in range(10)]
        assert math.exp(report.log_e_values["groups"]) == pytest.approx((sum(e) + 10) / 20, rel=1e-9)
        assert [group.group for group in report.groups if group.named] == ["9"]

    def test_more_groups_are_refused(self):
        table = np.full((40, 2), 0.5)
        message = "The log has more than 7 groups, which were said to be all (`n_groups`)"
        with pytest.raises(ValueError, match=re.escape(message)):
            feint.audit([0, 1] * 20, probabilities=table, groups=np.arange(40) % 8, n_groups=7)
        with pytest.raises(ValueError, match="`n_groups` is 0; give the number of groups"):
            feint.audit([0, 1] * 20, probabilities=table, groups=np.arange(40) % 8, n_groups=0)
        report = feint.audit([0, 1] * 20, probabilities=table, n_groups=7)
        assert "`n_groups` is not used" in " ".join(report.warnings)

    def test_untested_groups_count_by_their_rank(self):
        test = GroupTilts(2)
        test.admit(40)
        arms = np.ones(30, dtype=np.int64)
        log_m = test.extend(np.full(30, 40), arms, np.tile(HALF, (30, 1)))
        expected = 1 + weight(41) * (plain_e(arms, np.full((30, 2), 0.5)) - 1)
        assert math.exp(log_m[-1]) == pytest.approx(expected, rel=1e-9)
        assert test.log_e_values()[:40].tolist() == [0.0] * 40


def test_a_saved_audit_goes_on_identically():
    rng = np.random.default_rng(4)
    table = rng.dirichlet([1.0, 1.0], 3_000)
    groups = np.minimum(rng.integers(60, size=3_000), np.arange(3_000) // 40)
    columns = {"arm": rng.integers(2, size=3_000), "probabilities": table, "group": groups}
    table[100], columns["arm"][100] = (1, 0), 1
    log, claim = ArrayLog(columns), Claim(names=Names(group="group", time=""))
    chosen = choose_columns(log.columns, claim)

    def auditor():
        return Auditor(make_mode("probabilities", claim, LogArms(2)), grouped=True)

    whole, parts = auditor(), auditor()
    for batch in log.batches(chosen.used(), 700, lambda done: None):
        chunk = make_chunk(chosen, LogArms(2), batch, whole.rows + 1)
        whole.feed(chunk)
        parts.feed(chunk)
        again = auditor()
        again.recall(json.loads(json.dumps(parts.state(), allow_nan=False)))
        parts = again
    assert parts.report([]).to_json() == whole.report([]).to_json()


def test_all_groups_are_written_to_a_file(tmp_path):
    rng = np.random.default_rng(5)
    groups = np.arange(3_000) % 60
    arms = np.where(groups < 30, 1, rng.integers(2, size=3_000))
    path, found = tmp_path / "log.csv", tmp_path / "groups.csv"
    rows = "".join(f'{a},"shop, {g}",0.5,0.5\n' for a, g in zip(arms, groups, strict=True))
    path.write_text("arm,shop,p_0,p_1\n" + rows)
    words = ["audit", str(path), "--group", "shop", "--groups", str(found)]
    assert CliRunner().invoke(app, words).exit_code == 1
    with open(found, newline="") as file:
        table = list(csv.DictReader(file))
    report = feint.audit(arms, probabilities=np.full((3_000, 2), 0.5), groups=[f"shop, {g}" for g in groups])
    assert [(row["group"], int(row["tested"]), float(row["log_e_value"]), row["named"] == "1") for row in table] == [
        tuple(group) for group in report.all_groups
    ]
    assert sum(row["named"] == "1" for row in table) == report.n_named == 30
    before = found.read_bytes()
    found.write_text("mine")
    assert isinstance(CliRunner().invoke(app, words).exception, FileExistsError)
    assert found.read_text() == "mine"
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 1
    assert found.read_bytes() == before
    without = CliRunner().invoke(app, ["audit", str(path), "--groups", str(tmp_path / "other.csv")])
    assert "name the column of groups with --group" in str(without.exception)


def test_a_group_that_is_no_unicode_can_be_written(tmp_path):
    """Half of a pair of surrogates, which JSON can have and UTF-8 cannot."""
    rows = "".join(f'{{"arm": {t % 2}, "p_0": 0.5, "p_1": 0.5, "shop": "\\ud800{t % 3}"}}\n' for t in range(9))
    (tmp_path / "log.jsonl").write_text(rows)
    words = ["audit", str(tmp_path / "log.jsonl"), "--group", "shop", "--groups", str(tmp_path / "groups.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    with open(tmp_path / "groups.csv", newline="", encoding="utf-8") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"\\ud8000", "\\ud8001", "\\ud8002"}
