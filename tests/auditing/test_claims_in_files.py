"""Test claims about logs in files, with columns, lists, times and labels, and the command that reads them."""

import gzip
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import feint
import honest_agents as honest
from feint.auditing import Names
from feint.references import ThompsonSampling
from honest_agents import reward_times
from shell import run_audit, write_csv

RATES, MEANS = [0.6, 0.5, 0.3], [0.5, 0.3, 0.0]
BETA = {"family": feint.Bernoulli(), "initial_round": False}


class TestFiles:
    ARMS = ("control", "red", "blue")

    @staticmethod
    def table(rows=300, seed=0):
        """Return a table with labels, and with probabilities that keep all digits in a text."""
        rng = np.random.default_rng(seed)
        shares = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.5, 0.25]])[rng.integers(3, size=rows)]
        return [TestFiles.ARMS[a] for a in honest.draw(rng, shares)], shares

    @pytest.fixture
    def expected(self):
        labels, shares = self.table()
        return feint.audit([self.ARMS.index(label) for label in labels], probabilities=shares).log_e_value

    def test_columns_by_label(self, expected, tmp_path):
        labels, shares = self.table()
        rows = [(label, *p) for label, p in zip(labels, shares, strict=True)]
        path = write_csv(tmp_path / "log.csv", "arm,p_control,p_red,p_blue", rows)
        report = feint.audit_log(path)
        assert report.log_e_value == expected
        assert [arm.label for arm in report.arms] == list(self.ARMS)
        shuffled = write_csv(tmp_path / "b.csv", "p_blue,p_red,arm,p_control", [(b, r, a, c) for a, c, r, b in rows])
        assert feint.audit_log(shuffled).log_e_value == pytest.approx(expected, rel=1e-12)
        numbered = write_csv(tmp_path / "c.csv", "arm,p_0,p_1,p_2", rows)
        assert feint.audit_log(numbered, n_arms=self.ARMS).log_e_value == expected
        with pytest.raises(ValueError, match="columns of probabilities are for"):
            feint.audit_log(path, n_arms=["control", "red", "green"])

    def test_lists(self, expected, tmp_path):
        labels, shares = self.table()
        texts = [f'"{p.tolist()}"' for p in shares]
        path = write_csv(tmp_path / "log.csv", "arm,probabilities", zip(labels, texts, strict=True))
        assert feint.audit_log(path, n_arms=self.ARMS).log_e_value == expected
        assert json.loads(run_audit(path, "--arms", "control,red,blue", "--json")[1])["log_e_value"] == expected
        by_label = [dict(zip(self.ARMS, p.tolist(), strict=True)) for p in shares]
        for cells, names in (
            ([p.tolist() for p in shares], Names(probabilities="chances")),
            ([" ".join(map(str, p)) for p in shares], Names(probabilities="chances")),
            (by_label, Names(prefix="chances.")),
        ):
            path = tmp_path / "log.jsonl"
            lines = (json.dumps({"arm": a, "chances": c}) for a, c in zip(labels, cells, strict=True))
            path.write_text("\n".join(lines) + "\n")
            assert feint.audit_log(path, n_arms=self.ARMS, names=names).log_e_value == expected

    def test_lists_that_do_not_fit_are_bad_rows(self, tmp_path):
        path = tmp_path / "log.jsonl"
        cells = [[0.5, 0.5], [0.5], "x", None, {"z": 1}, [None, 1], [[1], 2], [0.5, 0.5]]
        path.write_text("\n".join(json.dumps({"arm": 0, "probabilities": cell}) for cell in cells))
        with pytest.raises(ValueError, match=r"line 2: the list of probabilities must have 2 numbers; it has 1"):
            feint.audit_log(path, n_arms=["0", "1"])
        report = feint.audit_log(path, n_arms=["0", "1"], skip_bad=True)
        assert (report.rows, report.tested) == (8, 2)

    def test_dsjson(self, expected, tmp_path):
        """As Vowpal Wabbit writes it: actions from 1, the chosen one first."""
        labels, shares = self.table()
        lines = []
        for t, (label, p) in enumerate(zip(labels, shares, strict=True)):
            arm = self.ARMS.index(label)
            order = [arm, *(a for a in range(3) if a != arm)]
            lines.append(
                json.dumps(
                    {
                        "Timestamp": f"2026-01-01T00:{t // 60:02d}:{t % 60:02d}Z",
                        "_label_cost": 0, "_label_probability": p[arm], "_label_Action": arm + 1, "_labelIndex": arm,
                        "o": [], "a": [a + 1 for a in order], "p": [p[a] for a in order],
                        "c": {"_multi": [{}, {}, {}]},
                    }
                )
            )  # fmt: skip
        path = tmp_path / "log.dsjson"
        path.write_text("\n".join(lines) + "\n")
        assert feint.audit_log(path).log_e_value == pytest.approx(expected, rel=1e-12)

    def test_tables_pipes_and_packed_files(self, expected, tmp_path):
        labels, shares = self.table()
        columns = {"arm": labels} | {f"p_{label}": shares[:, a] for a, label in enumerate(self.ARMS)}
        for name, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
            library = pytest.importorskip(name)
            assert feint.audit_log(getattr(library, make)(columns)).log_e_value == expected
        text = "arm,p_control,p_red,p_blue\n"
        text += "".join(f"{a},{p[0]},{p[1]},{p[2]}\n" for a, p in zip(labels, shares, strict=True))
        (tmp_path / "log.csv.gz").write_bytes(gzip.compress(text.encode()))
        assert feint.audit_log(tmp_path / "log.csv.gz").log_e_value == expected
        command = [sys.executable, "-m", "feint", "audit", "-", "--json"]
        found = subprocess.run(command, input=text, capture_output=True, text=True)
        assert json.loads(found.stdout)["log_e_value"] == expected

    def test_labels_of_rewards(self, tmp_path):
        rng = np.random.default_rng(1)
        arms, rewards, _ = honest.play(rng, 1, 300, 3, honest.beta_sampling(), honest.flips(RATES))
        rows = [(self.ARMS[a], int(r)) for a, r in zip(arms[0], rewards[0], strict=True)]
        path = write_csv(tmp_path / "log.csv", "arm,reward", rows)
        given = feint.audit_log(path, n_arms=self.ARMS, **BETA)
        assert given.log_e_value == feint.audit(arms[0], rewards[0], n_arms=3, **BETA).log_e_value
        found = feint.audit_log(path, **BETA)
        assert any("arms, 3 (blue, control, red), was taken from the log" in warning for warning in found.warnings)
        with pytest.raises(ValueError, match="not among the arms control, red"):
            feint.audit_log(path, n_arms=["control", "red"], **BETA)

    def test_the_weights_of_a_split_count_the_arms(self, tmp_path):
        claim = {"reference": feint.Split([0.3, 0.5, 0.2])}
        arms = np.random.default_rng(2).integers(2, size=200)  # arm 2 is never pulled
        path = write_csv(tmp_path / "log.csv", "arm", [(a,) for a in arms])
        found = feint.audit_log(path, **claim)
        assert "taken from the log" not in " ".join(found.warnings)
        assert found.log_e_values == feint.audit_log(path, n_arms=3, **claim).log_e_values
        # The same claim as a column of probabilities per arm.
        logged = feint.audit(arms, probabilities=np.tile([0.3, 0.5, 0.2], (200, 1)))
        assert found.log_e_values == pytest.approx(logged.log_e_values, rel=1e-12)
        path = write_csv(tmp_path / "labels.csv", "arm", [(self.ARMS[a],) for a in [*arms, 2]])
        found = feint.audit_log(path, **claim)
        assert any("arms, 3 (blue, control, red), was taken from the log" in warning for warning in found.warnings)
        with pytest.raises(ValueError, match="arm 3 is out of range; with 3 arms they count from 0 to 2, not from 1"):
            feint.audit_log(write_csv(tmp_path / "from_1.csv", "arm", [(1,), (2,), (3,)]), **claim)

    def test_times(self, tmp_path):
        moments = [f"2026-01-01 00:00:{second:02d} UTC" for second in (0, 0, 1, 1, 1, 5)]
        path = write_csv(tmp_path / "log.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, moment) for moment in moments])
        assert "Rows with the same time as the row before: 3." in " ".join(feint.audit_log(path).warnings)
        back = write_csv(tmp_path / "b.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, m) for m in reversed(moments)])
        with pytest.raises(ValueError, match="lies before that of row"):
            feint.audit_log(back)

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_reward_times_of_any_kind(self, unit, tmp_path):
        """Dates in a file, datetime64 in arrays, and the same as whole numbers."""
        rng = np.random.default_rng(2)
        arms, rewards, known = honest.play(rng, 1, 200, 3, honest.beta_sampling(), honest.flips(RATES), reward_times)
        arms, rewards, known = arms[0], rewards[0], known[0]
        start = np.datetime64("2026-01-01T00:00:00", unit)
        second = np.timedelta64(1, "s").astype(f"m8[{unit}]")
        times = start + np.arange(200) * second
        due = np.where(known == honest.NEVER, np.datetime64("NaT"), start + np.minimum(known, 999) * second)
        options = {"n_arms": 3, **BETA}
        by_date = feint.audit(arms, rewards, times=times, reward_times=due, **options)
        numbers = np.array([None if k == honest.NEVER else int(k) for k in known], dtype=object)
        by_number = feint.audit(arms, rewards, times=np.arange(200), reward_times=numbers, **options)
        assert by_date.log_e_value == by_number.log_e_value
        rows = [
            (a, "" if np.isnat(d) else int(r), f"{str(t)[:19]}Z".replace("T", " "), "" if np.isnat(d) else str(d)[:19])
            for a, r, t, d in zip(arms, rewards, times, due, strict=True)
        ]
        path = write_csv(tmp_path / "log.csv", "arm,reward,time,seen", rows)
        assert feint.audit_log(path, names=Names(reward_time="seen"), **options).log_e_value == by_date.log_e_value

    def test_times_beyond_64_bits(self, tmp_path):
        """Such a time is never reached before the log ends, and a number that no float64 holds is no time."""
        rows = [(row % 2, 1, row, 10**20) for row in range(10)]
        path = write_csv(tmp_path / "log.csv", "arm,reward,time,seen", rows)
        assert feint.audit_log(path, names=Names(reward_time="seen")).tested == 0
        path = write_csv(tmp_path / "log.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, "9" * 400)])
        with pytest.raises(ValueError, match="neither a number nor a date"):
            feint.audit_log(path)

    @pytest.mark.parametrize(
        ("cells", "accepted"),
        [
            (("0.333333", "0.333333", "0.333333"), True),
            (("0.33", "0.33", "0.33"), True),
            (("0.3", "0.3", "0.3", "0.05"), False),
            (("0.3333", "0.3333", "0.3300"), False),
            (("0.5", "0.25", ""), False),
        ],
    )
    def test_printed_probabilities(self, cells, accepted, tmp_path):
        path = write_csv(
            tmp_path / "log.csv", "arm," + ",".join(f"p_{a}" for a in range(len(cells))), [(0, *cells)] * 5
        )
        if accepted:
            assert feint.audit_log(path).tested == 5
        else:
            with pytest.raises(ValueError, match=r"line 2: .*(sum to|is missing)"):
                feint.audit_log(path)

    def test_a_missing_probability_in_json(self, tmp_path):
        path = tmp_path / "log.jsonl"
        path.write_text('{"arm": 0, "p_0": 0.5, "p_1": 0.5}\n{"arm": 0, "p_0": null, "p_1": 0.5}\n')
        with pytest.raises(ValueError, match="line 2: the probability of arm 0 is missing"):
            feint.audit_log(path)

    def test_columns_that_look_like_a_claim(self, tmp_path):
        rows = [(row % 2, 0.1 * (row % 7), 0.5, 0.5, 1) for row in range(20)]
        path = write_csv(tmp_path / "log.csv", "arm,reward,pscore,prob,price", rows)
        said = [warning for warning in feint.audit_log(path).warnings if "look like a claim" in warning]
        assert said == ["Columns that look like a claim are not used: 'pscore', 'prob'."]

    def test_options_that_do_not_apply_are_named(self):
        table = [[0.5, 0.5]] * 10
        report = feint.audit([0, 1] * 5, probabilities=table, propensity_draws=10, delay=3)
        assert "propensity_draws` is not used" in " ".join(report.warnings)
        assert "Reference, prior and rewards are not used" in " ".join(report.warnings)
        report = feint.audit([0, 1] * 5, [0.1, 0.2] * 5, floor=0.01)
        assert "`floor` is not used" in " ".join(report.warnings)
        report = feint.audit([0, 1] * 5, [0.1, 0.2] * 5, contexts=np.ones((10, 2)))
        assert "`context` is not used: ThompsonSampling knows no contexts." in report.warnings

    def test_names_with_brackets_are_only_names(self, tmp_path):
        """Rich would take [/b] for the end of a style."""
        rng = random.Random(0)
        rows = [(rng.choice(["[/b]", "[red]"]), rng.random(), "[/u]", 1) for _ in range(50)]
        path = write_csv(tmp_path / "log.csv", "arm,reward,user,prob_[/x]", rows)
        for options in ((), ("--group", "user"), ("--split", "0.9,0.1")):
            code, out = run_audit(path, *options)
            assert code in (0, 1), out
            assert "[/b]" in out
            assert "[/x]" in out


@pytest.fixture(scope="module")
def split_logs(tmp_path_factory):
    """Return an honest log of 3,000 rows with shares of one half, and a wrong one with a share of 0.6."""
    folder = tmp_path_factory.mktemp("split")
    rng = np.random.default_rng(0)
    return [
        write_csv(folder / f"{name}.csv", "arm,p_0,p_1", [(int(u < p), 0.5, 0.5) for u in rng.random(3_000)])
        for name, p in (("honest", 0.5), ("wrong", 0.6))
    ]


class TestCommand:
    @pytest.mark.parametrize("options", [(), ("--json",), ("--follow", "--until-end")], ids=str)
    def test_a_closed_pipe_changes_no_exit_code(self, split_logs, options):
        for path, code in zip(split_logs, (0, 1), strict=True):
            reading, writing = os.pipe()
            os.close(reading)
            command = [sys.executable, "-m", "feint", "audit", str(path), *options]
            found = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
            os.close(writing)
            assert (found.returncode, found.stderr) == (code, "")

    def test_head(self, split_logs):
        command = f"{sys.executable} -m feint audit {split_logs[0]} | head -1; exit ${{PIPESTATUS[0]}}"
        assert subprocess.run(["bash", "-c", command], capture_output=True).returncode == 0

    @pytest.mark.parametrize("cut", [1, 400, 2_999])
    @pytest.mark.parametrize("kind", ["honest", "wrong", "rewards", "times"])
    def test_a_restart_goes_on_identically(self, kind, cut, split_logs, tmp_path):
        options = ["--follow", "--until-end"]
        if kind in ("rewards", "times"):
            rng = np.random.default_rng(1)
            arms, rewards, known = honest.play(
                rng, 1, 3_000, 3, honest.beta_sampling(), honest.flips(RATES),
                honest.batched(20) if kind == "rewards" else reward_times, 0.999,
            )  # fmt: skip
            rows = [
                (a, int(r), t, "" if k == honest.NEVER else k)
                for t, (a, r, k) in enumerate(zip(arms[0], rewards[0], known[0], strict=True))
            ]
            path = write_csv(tmp_path / "log.csv", "arm,reward,time,seen", rows)
            options += ["--arms", "3", "--reference", "beta", "--discount", "0.999"]
            options += ["--batch", "20"] if kind == "rewards" else ["--reward-time", "seen"]
        else:
            path = split_logs[kind == "wrong"]
        header, *lines = path.read_text().splitlines(keepends=True)
        first, second = (
            tmp_path / "first.csv",
            tmp_path / "second.csv",
        )
        first.write_text(header + "".join(lines[:cut]))
        second.write_text(header + "".join(lines))  # the file has grown
        said, states = [], []
        for pieces, state in (([path], "one.json"), ([first, second], "two.json")):
            state = tmp_path / state
            said.append("")
            for piece in pieces:
                code, out = run_audit(piece, *options, "--state", state)
                said[-1] += out if "rejected" in out or piece is pieces[-1] else ""
            said[-1] += str(code)
            states.append(json.loads(state.read_text()))
        assert said[0] == said[1]
        if kind == "wrong":  # it ends at the alarm, with what had arrived by then
            states = [state["rejected_at"] for state in states]
        assert states[0] == states[1]
        assert said[0].count("rejected") == said[0].count("\n") == 1 if kind == "wrong" else "rejected" not in said[0]

    def test_follow_says_what_a_whole_audit_says(self, split_logs):
        code, out = run_audit(split_logs[1], "--follow")
        row = feint.audit_log(split_logs[1]).rejected_at
        assert code == 1
        assert out.splitlines() == [
            f"rejected at row {row} (claim: the logged probabilities are those of the pulls; α = 0.05)"
        ]

    def test_a_start_of_bad_rows_can_be_saved(self, tmp_path):
        """Nothing was known yet; the restart knows that."""
        first = write_csv(tmp_path / "a.csv", "arm,reward", [("x", 1), (0, "y")])
        grown = [("x", 1), (0, "y"), *((row * row // 5 % 2, row % 3) for row in range(30))]
        second = write_csv(tmp_path / "b.csv", "arm,reward", grown)
        options = ["--follow", "--until-end", "--arms", "2", "--skip-bad", "--state", str(tmp_path / "s.json")]
        for piece in (first, second):
            code, out = run_audit(piece, *options)
            assert code == 0, out
        assert json.loads((tmp_path / "s.json").read_text())["rows"] == 32

    @pytest.mark.parametrize("state", ["[1]", "1", "null", "{}", "{", '{"feint_auditor": 1}', "damaged"])
    def test_states_that_are_none(self, state, split_logs, tmp_path):
        path = tmp_path / "s.json"
        arguments = [str(split_logs[0]), "--follow", "--until-end", "--state", str(path)]
        if state != "damaged":
            path.write_text(state)
            code, out = run_audit(*arguments)
            assert (code, out.count("\n")) == ((0, 1) if state == "null" else (2, 1)), out
            return
        assert run_audit(*arguments)[0] == 0
        whole = json.loads(path.read_text())
        for key in whole:
            for value in (None, [], {}, "x", [1], -1):
                path.write_text(json.dumps(whole | {key: value}))
                assert run_audit(*arguments)[0] in (0, 1, 2), (key, value)

    @pytest.mark.parametrize(
        "options",
        [
            "--batch 0", "--batch -5", "--batch x", "--delay -1", "--delay 1.5", "--delay 3 --batch 20",
            "--split 0.5,0.6", "--split 0.5", "--split x", "--split 0.5,0.5,0", "--split 0.5,0.5 --reference beta",
            "--split 0.5,0.5 --prior 1,1", "--split 0.5,0.5 --sigma 2", "--clip 0.9", "--clip 0", "--clip nan",
            "--clip 0.4 --arms 3", "--within x", "--within -1%", "--within 100%", "--within nan", "--within %",
            "--sigma unknown --reference beta", "--sigma unknown --prior 0,1", "--sigma x", "--sigma 1,2",
            "--sigma unknown --prior 0,1,1,1;0,1,1,1", "--reference beta --sigma 1", "--reference normal:2 --sigma 1",
            "--prior missingfile", "--prior 0,1;0", "--prior 0,1;0,1;0,1", "--prior folder", "--prior ;",
            "--state s.json", "--follow --json", "--follow --group user", "--follow", "--group nobody",
            "--until-end", "--on-alarm cat", "--follow --on-alarm nobody-has-this", "--follow --on-alarm '",
            "--reward-time nowhen", "--reward-time seen", "--reward-time seen --time when --batch 2",
            "--discount 0", "--discount 1.1", "--discount nan", "--reference softmax", "--reference softmax:0",
            "--reference softmax:1,2", "--reference epsilon-greedy:2", "--reference uniform:3", "--reference magic",
            "--propensity-draws 0", "--propensity-draws x", "--floor 0.5", "--floor -1", "--arms a", "--arms a,a",
            "--arms ,", "--arms 0", "--mode probabilities", "--probabilities nothing", "--alpha nan",
        ],
    )  # fmt: skip
    def test_wrong_options_end_with_one_line(self, options, tmp_path, monkeypatch):
        rows = [(row % 2, row % 3 / 7, row, row + 1, row % 4) for row in range(30)]
        write_csv(tmp_path / "log.csv", "arm,reward,when,seen,user", rows)
        (tmp_path / "folder").mkdir()
        monkeypatch.chdir(tmp_path)
        code, out = run_audit("log.csv", *options.split())
        assert code == 2, out
        assert "Traceback" not in out
        assert "unexpected" not in out
        assert (out.startswith("feint: ") and out.count("\n") == 1) or "Usage:" in out

    def test_a_prior_file(self, tmp_path):
        rows = [(row % 2, row % 3 % 2) for row in range(30)]
        path = write_csv(tmp_path / "log.csv", "arm,reward", rows)
        (tmp_path / "priors.txt").write_text("1,1\n8,2\n\n")
        options = (path, "--reference", "beta", "--arms", "2", "--json", "--prior")
        by_file, by_hand = (json.loads(run_audit(*options, prior)[1]) for prior in (tmp_path / "priors.txt", "1,1;8,2"))
        assert by_file == by_hand
        report = feint.audit(*zip(*rows, strict=True), n_arms=2, family=feint.Bernoulli(),
                             reference=ThompsonSampling([(1, 1), (8, 2)]))  # fmt: skip
        assert by_file["log_e_value"] == report.log_e_value
