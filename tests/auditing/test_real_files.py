"""Files that people have: arms that count from 1, dsjson without times, logs sorted by user, even propensities."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import feint
from feint.auditing.claim import Names
from feint.cli import app


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


class TestArmsFromOne:
    PI = (0.2, 0.3, 0.5)

    @pytest.fixture
    def log(self, tmp_path):
        arms = np.random.default_rng(0).choice(3, 300, p=self.PI) + 1
        return arms, write(tmp_path / "log.csv", "arm,p_1,p_2,p_3", [(a, *self.PI) for a in arms])

    @pytest.mark.parametrize("given", [None, 3, ["1", "2", "3"], ["3", "1", "2"]])
    def test_they_are_labels(self, log, given):
        arms, path = log
        report = feint.audit_log(path, n_arms=given)
        expected = feint.audit(arms - 1, probabilities=np.tile(self.PI, (300, 1)))
        assert [arm.label for arm in report.arms] == ["1", "2", "3"]
        assert [arm.observed for arm in report.arms] == [arm.observed for arm in expected.arms]
        assert report.log_e_value == expected.log_e_value
        assert report.warnings == ()

    def test_command(self, log):
        for options in ((), ("--arms", "1,2,3")):
            assert CliRunner().invoke(app, ["audit", str(log[1]), *options]).exit_code == 0

    def test_arms_from_0_do_not_fit_them(self, tmp_path):
        path = write(tmp_path / "log.csv", "arm,p_1,p_2", [(0, 0.5, 0.5), (1, 0.5, 0.5)])
        with pytest.raises(ValueError, match="arm is '0', which is not among the arms 1, 2"):
            feint.audit_log(path)


class TestDsjson:
    @staticmethod
    def write(path, timed=False, **more):
        rng = np.random.default_rng(1)
        lines = []
        for t, action in enumerate(rng.choice(2, 200, p=[0.8, 0.2]) + 1):
            p = [0.8, 0.2] if action == 1 else [0.2, 0.8]
            row = {
                "_label_cost": -1,
                "_label_probability": p[0],
                "_label_Action": int(action),
                "_labelIndex": int(action) - 1,
            }
            time = {"Timestamp": f"2026-01-01T00:{t // 60:02d}:{t % 60:02d}Z"} if timed else {}
            lines.append(json.dumps(row | {"a": [int(action), 3 - int(action)], "p": p} | time | more))
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_without_timestamp(self, tmp_path):
        bare = feint.audit_log(self.write(tmp_path / "bare.dsjson"))
        timed = feint.audit_log(self.write(tmp_path / "timed.dsjson", timed=True))
        assert (bare.tested, bare.verdict) == (200, "no evidence against")
        assert bare.log_e_value == timed.log_e_value

    def test_thinned_out(self, tmp_path):
        path = self.write(tmp_path / "log.dsjson", pdrop=0.5)
        with pytest.raises(ValueError, match=r"left out of the log at random \(pdrop\).* take pdrop out of the lines"):
            feint.audit_log(path)
        assert feint.audit_log(self.write(tmp_path / "whole.dsjson", pdrop=0)).tested == 200


class TestSortedByUser:
    NAMES = Names(group="user")

    @staticmethod
    def rows(n_users=5, per_user=40):
        rng = np.random.default_rng(2)
        return [(u, t, rng.integers(2), 0.5, 0.5) for u in range(n_users) for t in range(u, per_user + u)]

    def test_times_are_checked_within_groups(self, tmp_path):
        path = write(tmp_path / "log.csv", "user,time,arm,p_0,p_1", self.rows())
        report = feint.audit_log(path, names=self.NAMES)
        assert (report.tested, report.n_groups) == (200, 5)
        assert "earlier than a row of another group above them: 152." in " ".join(report.warnings)
        with pytest.raises(ValueError, match="line 42: time '1' lies before that of row 40"):
            feint.audit_log(path)

    def test_a_step_back_within_a_group_is_refused(self, tmp_path):
        rows = self.rows()
        rows[50], rows[51] = rows[51], rows[50]
        path = write(tmp_path / "log.csv", "user,time,arm,p_0,p_1", rows)
        with pytest.raises(ValueError, match="line 53: time '11' lies before that of row 51"):
            feint.audit_log(path, names=self.NAMES)

    def test_rewards_by_time_count_within_the_group(self):
        """Sorted by user or by time, a user's rows keep their order, so the past and the tested pulls are the same."""
        rng = np.random.default_rng(3)
        users, times = np.repeat(np.arange(4), 60), np.tile(np.arange(60), 4)
        arms, rewards, due = rng.integers(2, size=240), rng.normal(size=240), times + rng.integers(1, 9, 240)
        by_time = np.lexsort((users, times))
        found = []
        for order in (np.arange(240), by_time):
            columns = {"times": times, "reward_times": due, "groups": users}
            given = {name: values[order] for name, values in columns.items()}
            report = feint.audit(arms[order], rewards[order], n_arms=2, explain=False, **given)
            found.append({group.group: (group.tested, round(group.log_e_value, 9)) for group in report.all_groups})
        assert found[0] == found[1]


def test_even_propensities_have_a_stronger_claim():
    arms = np.random.default_rng(4).integers(4, size=400)
    even = feint.audit(arms, propensities=np.full(400, 0.25), n_arms=4)
    assert "All propensities are 1/4." in " ".join(even.warnings)
    assert "--reference uniform" in " ".join(even.warnings)
    other = feint.audit(arms, propensities=np.where(np.arange(400) == 7, 0.3, 0.25), n_arms=4)
    assert "All propensities" not in " ".join(other.warnings)


def test_a_diagnosis_does_not_list_the_claim_itself():
    """For a uniform claim that is rejected by chance, too greedy, too random and another row are uniform too."""
    rng = np.random.default_rng(5)
    seen = 0
    while seen < 3:
        arms = rng.integers(3, size=300)
        report = feint.audit(arms, n_arms=3, reference=feint.Split(), alpha=0.5)
        if report.diagnosis is None:
            continue
        seen += 1
        found = report.diagnosis.explanations
        assert all(abs(explanation.log_gain) > 1e-6 for explanation in found)
        assert not {"too greedy", "too random", "another row"} & {explanation.kind for explanation in found}
