"""How a log writes its numbers, labels, missing rewards and order: said by an option, checked, never guessed."""

import re

import numpy as np
import pyarrow as pa
import pytest

import feint
from feint.auditing.claim import Claim
from shell import typed

N = 300
RNG = np.random.default_rng(281)
ARMS = RNG.integers(0, 3, N)
REWARDS = np.round(RNG.normal(size=N), 3)
CHANCES = np.round(RNG.dirichlet([2.0, 2.0, 2.0], N), 3)
CHANCES[:, 2] = np.round(1.0 - CHANCES[:, 0] - CHANCES[:, 1], 3)


def write(path, header, *columns, mark=";"):
    lines = [mark.join(header), *(mark.join(map(str, row)) for row in zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def with_commas(numbers):
    return [f"{number:.3f}".replace(".", ",") for number in numbers]


def refuse(*words, says):
    done = typed("audit", *words)
    assert done.returncode == 2, done.stdout
    assert says in " ".join(done.stderr.split()), done.stderr


class TestDecimalCommas:
    def test_the_same_audit(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], ARMS, with_commas(REWARDS))
        found = feint.audit_log(path, delimiter=";", decimal=",", n_arms=3)
        assert found.log_e_value == feint.audit(ARMS, REWARDS, n_arms=3).log_e_value
        chances = write(tmp_path / "p.csv", ["arm", "p_0", "p_1", "p_2"], ARMS, *map(with_commas, CHANCES.T))
        texts = ([f"{chance:.3f}" for chance in column] for column in CHANCES.T)
        points = write(tmp_path / "q.csv", ["arm", "p_0", "p_1", "p_2"], ARMS, *texts)
        found = feint.audit_log(chances, delimiter=";", decimal=",")
        assert found.log_e_value == feint.audit_log(points, delimiter=";").log_e_value
        listed = [" ".join(with_commas(row)) for row in CHANCES]
        path = write(tmp_path / "listed.csv", ["arm", "probabilities"], ARMS, listed)
        assert feint.audit_log(path, delimiter=";", decimal=",").log_e_value == found.log_e_value
        assert typed("audit", chances, "--delimiter", ";", "--decimal", ",").returncode in (0, 1)

    def test_quoted_between_commas(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], ARMS, [f'"{x}"' for x in with_commas(REWARDS)], mark=",")
        found = feint.audit_log(path, decimal=",", n_arms=3)
        assert found.log_e_value == feint.audit(ARMS, REWARDS, n_arms=3).log_e_value

    def test_refused(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], ARMS, with_commas(REWARDS))
        refuse(path, "--delimiter", ";", "--arms", "3", says="not a number; is --decimal ',' meant?")
        thousands = write(tmp_path / "t.csv", ["arm", "reward"], [0, 1, 2, 0], ["1,5", "1.234,5", "1.234", "2"])
        refuse(
            thousands, "--delimiter", ";", "--decimal", ",", "--arms", "3",
            says="line 3: reward is '1.234,5', not a number; line 4: reward is '1.234', not a number",
        )  # fmt: skip
        refuse(path, "--decimal", "x", says="--decimal is 'x'; the decimal mark is a point or a comma")


class TestLabels:
    def test_numbers_with_and_without_a_fraction_of_zeros(self, tmp_path):
        labels = ["1.0" if i % 2 else "1" if arm == 0 else f"{arm + 1}.0" for i, arm in enumerate(ARMS)]
        arms = [int(float(label)) - 1 for label in labels]
        path = write(tmp_path / "log.csv", ["arm", "reward"], labels, REWARDS)
        expected = feint.audit(arms, REWARDS, n_arms=3).log_e_value
        for given in (["1", "2", "3"], ["1.0", "2.0", "3.0"]):
            assert feint.audit_log(path, delimiter=";", n_arms=given).log_e_value == expected
        path = write(tmp_path / "p.csv", ["arm", "p_1", "p_2", "p_3"], labels, *CHANCES.T)
        assert feint.audit_log(path, delimiter=";").log_e_value == feint.audit(arms, probabilities=CHANCES).log_e_value
        rows = [{"1.0" if i % 3 else "1": p[0], "2": p[1], "3.0": p[2]} for i, p in enumerate(CHANCES.tolist())]
        table = pa.table({"arm": labels, "probabilities": [str(row).replace("'", '"') for row in rows]})
        assert feint.audit_log(table).log_e_value == feint.audit(arms, probabilities=CHANCES).log_e_value

    def test_others_stay_apart(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], ["v1", "v1.0", "v1"] * 5, [0.0, 1.0, 0.5] * 5)
        assert [arm.label for arm in feint.audit_log(path, delimiter=";").arms] == ["v1", "v1.0"]
        path = write(tmp_path / "log.csv", ["arm", "reward"], ["1", "1.0", "a"] * 5, [0.0, 1.0, 0.5] * 5)
        report = feint.audit_log(path, delimiter=";", n_arms=["1", "1.0", "a"])
        assert [arm.label for arm in report.arms] == ["1", "1.0", "a"]

    def test_one_number_twice_is_refused(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], ["1", "2"], [0.0, 1.0])
        refuse(path, "--delimiter", ";", "--arms", "1,1.0,2", says="Two of the arms 1, 1.0, 2 are the same number")


class TestMissingRewards:
    @pytest.mark.parametrize("empty", ["", "NA"])
    def test_rewards_that_never_came(self, empty, tmp_path):
        """The audit is the same as for rewards whose time never comes, which takes another way through the code."""
        came = RNG.random(N) < 0.7
        came[:10] = True
        rewards = [str(x) if there else empty for x, there in zip(REWARDS, came, strict=True)]
        path = write(tmp_path / "log.csv", ["arm", "reward"], ARMS, rewards)
        found = feint.audit_log(path, delimiter=";", n_arms=3, missing="never")
        times = np.arange(N, dtype=float)
        due = np.where(came, times + 0.5, np.nan)
        expected = feint.audit(ARMS, np.where(came, REWARDS, np.nan), n_arms=3, times=times, reward_times=due)
        assert found.tested == expected.tested
        assert found.log_e_value == pytest.approx(expected.log_e_value, abs=1e-12)
        arrays = feint.audit(ARMS, np.where(came, REWARDS, np.nan), n_arms=3, missing="never")
        assert arrays.log_e_value == found.log_e_value
        assert "empty rewards being those never received" in found.claim

    def test_refused_unless_said(self, tmp_path):
        path = write(tmp_path / "log.csv", ["arm", "reward"], [0, 1, 2, 0, 1], ["1", "0.5", "2", "", "x"])
        words = (path, "--delimiter", ";", "--arms", "3")
        refuse(*words, says="If such rewards were never received, say so with --missing='never'.")
        refuse(*words, "--missing", "never", says="line 6: reward is 'x', not a number")
        refuse(path, "--missing", "0", says="--missing is '0'; say never if empty rewards were never received")

    def test_not_used(self):
        report = feint.audit([0, 1, 0], probabilities=[[0.5, 0.5]] * 3, missing="never")
        assert "`missing` is not used: no rewards are read." in report.warnings


class TestOrder:
    def test_in_order(self, tmp_path):
        steps = np.sort(RNG.integers(0, N, N))
        path = write(tmp_path / "log.csv", ["step", "arm", "reward"], steps, ARMS, REWARDS)
        found = feint.audit_log(path, delimiter=";", n_arms=3, order_by="step")
        assert found.log_e_value == feint.audit(ARMS, REWARDS, n_arms=3).log_e_value
        days = np.datetime_as_string(np.datetime64("2026-01-01") + np.arange(N))
        path = write(tmp_path / "days.csv", ["day", "arm", "reward"], days, ARMS, REWARDS)
        assert feint.audit_log(path, delimiter=";", n_arms=3, order_by="day").log_e_value == found.log_e_value

    @pytest.mark.parametrize("as_date", [False, True])
    def test_out_of_order_is_refused(self, as_date, tmp_path):
        steps = np.arange(10_000_000, 10_000_000 + N)
        steps[70] = 10_000_050
        cells = np.datetime_as_string(steps.astype("datetime64[s]")) if as_date else steps
        path = write(tmp_path / "log.csv", ["step", "arm", "reward"], cells, ARMS, REWARDS)
        words = (path, "--delimiter", ";", "--arms", "3", "--order-by", "step")
        refuse(*words, says="line 72: ")
        refuse(*words, says="of row 70. The rows are not in the order of --order-by; sort them")
        refuse(*words, "--skip-bad", says="The rows are not in the order of --order-by")
        refuse(*words[:-1], "nothing", says="There is no column 'nothing'")
        empty = [*map(str, cells[:60]), "", *map(str, cells[61:])]
        path = write(tmp_path / "log.csv", ["step", "arm", "reward"], empty, ARMS, REWARDS)
        refuse(*words, says="line 62: its order is '', neither a number nor a date")

    def test_within_groups(self, tmp_path):
        users = np.repeat([0, 1, 2], N // 3)
        steps = np.tile(np.arange(N // 3), 3)
        path = write(tmp_path / "log.csv", ["step", "user", "arm", "reward"], steps, users, ARMS, REWARDS)
        words = (path, "--delimiter", ";", "--arms", "3", "--order-by", "step")
        refuse(*words, says=f"'0' lies before {N // 3 - 1}, that of row {N // 3}")
        assert typed("audit", *words, "--group", "user", "--reference", "uniform").returncode == 0
        steps[N // 2] = 0
        path = write(path, ["step", "user", "arm", "reward"], steps, users, ARMS, REWARDS)
        refuse(*words, "--group", "user", says=f"line {N // 2 + 2}: its order '0' lies before")

    def test_a_followed_log_goes_on_in_order(self, tmp_path):
        """The state has the last place, so that a restart refuses what lies before it."""
        path = write(tmp_path / "log.csv", ["step", "arm", "reward"], range(1, 31), ARMS[:30], REWARDS[:30], mark=",")
        words = ["audit", path, "--arms", "3", "--reference", "uniform", "--order-by", "step"]
        words += ["--follow", "--until-end", "--state", "s.json"]
        assert typed(*words, cwd=tmp_path).returncode == 0
        with open(path, "a") as file:
            file.write("7,0,0.5\n")
        done = typed(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert re.search("'7' lies before 30, that of row 30", done.stderr)


def test_claims_with_other_answers_are_told_apart():
    assert Claim(missing="never").identity() != Claim().identity()
    assert Claim(decimal=",").identity() == Claim().identity()
