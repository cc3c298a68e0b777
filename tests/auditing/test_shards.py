"""Audits in shards: they equal the audit of the whole log, and the three e-values of the verdict are e-values."""

import itertools
import json
import math
import signal
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import feint
from cases import HANGS
from feint.auditing.sharded import merge, pieces, run
from feint.auditing.sharded.partition import ShardOf
from feint.cli import app
from sweep_cases import cluster, start, wait_until

ORDERS = [*dict.fromkeys(itertools.permutations([0, 0, 1, 1, 2, 2]))]


def weight(rank):
    """Return γ of the group that is the rank-th to arrive, counted from 1, by its definition."""
    return 1 / math.log2(rank + 1) - 1 / math.log2(rank + 2)


def shard_by_hand(label, n_shards):
    return int.from_bytes(blake2b(str(label).encode(), digest_size=8).digest(), "big") % n_shards


def groups_by_hand(labels, n_shards, each=1):
    """Return `each` labels u0, u1, … for every shard, those of shard 0 first."""
    found = [f"u{i}" for i in range(100)]
    return [[label for label in found if shard_by_hand(label, n_shards) == s][:each] for s in range(n_shards)][:labels]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Write a log of 6,000 rows and 150 users, one of whom is bent, as a Parquet file of many row groups."""
    rng, n = np.random.default_rng(3), 6_000
    users = rng.integers(0, 150, n)
    claimed = rng.dirichlet(np.ones(3), n)
    arms = (claimed.cumsum(1) > rng.random((n, 1))).argmax(1)
    arms = np.where((users == 17) & (rng.random(n) < 0.9), 2, arms)
    table = pa.table(
        {"arm": arms, "user": [f"user {u}" for u in users], "n": np.arange(n), "reward": rng.integers(0, 2, n)}
        | {f"p_{a}": claimed[:, a] for a in range(3)}
    )
    path = tmp_path_factory.mktemp("shop") / "log.parquet"
    pq.write_table(table, path, row_group_size=700)
    return path


def check_equal_groups(sharded, one, tolerance=1e-12):
    found, expected = ({group.group: group for group in report.all_groups} for report in (sharded, one))
    assert found.keys() == expected.keys()
    for label, group in expected.items():
        assert found[label].tested == group.tested
        assert found[label].log_e_value == pytest.approx(group.log_e_value, abs=tolerance)
        assert found[label].named == group.named


class TestEqualsOneProcess:
    @pytest.mark.parametrize("shards", [2, 16])
    @pytest.mark.parametrize(
        "claim",
        [
            {},
            {"mode": "rewards", "family": feint.Bernoulli(), "n_arms": 3, "initial_round": False},
            {"n_groups": 150, "within": 0.01},
        ],
    )
    def test_groups_and_arms(self, shop, claim, shards, monkeypatch):
        monkeypatch.setattr(pieces, "ROWS_PER_PIECE", 1_000)  # six pieces
        one = feint.audit_log(shop, group="user", order_by="n", explain=False, **claim)
        sharded = feint.audit_log(shop, group="user", order_by="n", shards=shards, **claim)
        assert one.n_named > 0
        check_equal_groups(sharded, one)
        assert (sharded.rows, sharded.tested, sharded.n_groups) == (one.rows, one.tested, one.n_groups)
        assert sharded.smallest_row == one.smallest_row
        for arm, expected in zip(sharded.arms, one.arms, strict=True):
            assert (arm.label, arm.observed) == (expected.label, expected.observed)
            assert [arm.excess, arm.low, arm.high] == pytest.approx([expected.excess, expected.low, expected.high])
        assert sharded.log_e_values["groups"] == pytest.approx(one.log_e_values["groups"], abs=1e-9)

    def test_a_shard_is_the_audit_of_its_rows(self, shop):
        """Each E_s is that of a log that has nothing else, so product and average can be had without shards."""
        table = pq.read_table(shop)
        where = np.array([shard_by_hand(user, 4) for user in table["user"].to_pylist()])
        log_e = []
        for shard in range(4):
            alone = feint.audit_log(table.filter(pa.array(where == shard)), group="user", explain=False)
            parts = alone.log_e_values
            bets = {"boosts": 0.95 * 0.3, "calibration": 0.95 * 0.7, "serial": 0.05}
            log_e.append(math.log(sum(share * math.exp(parts[name]) for name, share in bets.items())))
        report = feint.audit_log(shop, group="user", shards=4)
        assert report.log_e_values["product"] == pytest.approx(sum(log_e), abs=1e-9)
        assert math.exp(report.log_e_values["average"]) == pytest.approx(np.mean(np.exp(log_e)), rel=1e-9)
        mean = np.mean([math.exp(report.log_e_values[name]) for name in ("product", "average", "groups")])
        assert report.log_e_value == pytest.approx(math.log(mean), abs=1e-12)
        assert report.rejected_at == report.rows == 6_000

    def test_any_file_and_table(self, shop, tmp_path):
        """The same rows as CSV, as several files of folders, as Feather, and in memory."""
        table = pq.read_table(shop)
        expected = feint.audit_log(shop, group="user", shards=3)
        (tmp_path / "half=1").mkdir()
        (tmp_path / "half=2").mkdir()
        pa.csv.write_csv(table[:2_500], tmp_path / "half=1" / "a.csv")
        pa.feather.write_feather(table[2_500:], tmp_path / "half=2" / "b.feather")
        for source in (tmp_path, table, iter(table.to_batches(max_chunksize=999))):
            found = feint.audit_log(source, group="user", shards=3)
            assert found.log_e_value == pytest.approx(expected.log_e_value, abs=1e-9)
            check_equal_groups(found, expected)

    def test_cells_of_any_type(self, tmp_path):
        """Lists, empty rewards, groups of several types, and lines that are wrong."""
        rng = np.random.default_rng(5)
        users = ["a", 1, "1", 1.0, True, "a ", 2**70, "é"]
        rows = [
            {
                "arm": int(rng.integers(2)),
                "user": users[rng.integers(8)],
                "probabilities": [0.5, 0.5] if i % 3 else "[0.5, 0.5]",
            }
            for i in range(400)
        ]
        rows[7]["arm"] = "x"
        rows[100]["probabilities"] = [0.5, 0.6]
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n" + json.dumps(rows[0]) + "\n")
        options = {"group": "user", "n_arms": 2, "skip_bad": True}
        one = feint.audit_log(path, **options)
        sharded = feint.audit_log(path, shards=4, **options)
        assert one.n_groups == 5  # a, 1, True, 2⁷⁰ and é
        check_equal_groups(sharded, one)
        assert (sharded.bad_rows, sharded.bad_examples) == (one.bad_rows, one.bad_examples)
        assert sharded.left_out == 3

    def test_times_over_several_files(self, tmp_path):
        """Groups that arrive in one instant have the order of their labels, also if it goes on in another file."""
        labels = ["g", "f", "e", "d", "c", "b", "a"]
        arms = [0, 1, 1, 0, 1, 1, 1] * 12
        times = [1, 1, 2, 2, 2, 3, 3] + [9] * 77
        table = pa.table({"arm": arms, "user": labels * 12, "time": times, "p_0": [0.5] * 84, "p_1": [0.5] * 84})
        whole = feint.audit_log(table, group="user", shards=3)
        one = feint.audit_log(table, group="user")
        for i, rows in enumerate((slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 84))):
            pq.write_table(table[rows], tmp_path / f"{i}.parquet")
        files = feint.audit_log(tmp_path, group="user", shards=3)
        ranks = {"f": 1, "g": 2, "c": 3, "d": 4, "e": 5, "a": 6, "b": 7}
        e = {group.group: math.exp(group.log_e_value) for group in one.all_groups}
        expected = math.log(1 + sum(weight(ranks[label]) * (e[label] - 1) for label in labels))
        for report in (whole, files, one):
            assert report.log_e_values["groups"] == pytest.approx(expected, abs=1e-12)
        assert files.log_e_value == pytest.approx(whole.log_e_value, abs=1e-12)

    def test_impossible_pulls_and_changed_units(self, tmp_path):
        n = 60
        users, pages = np.arange(n) % 7, np.arange(n) % 2
        claimed = np.full((n, 2), 0.5)
        claimed[40] = np.eye(2)[1 - pages[40]]
        columns = {"arm": pages, "user": users, "p_0": claimed[:, 0], "p_1": claimed[:, 1]}
        options = {"group": "user", "explain": False}
        one, sharded = (feint.audit_log(pa.table(columns), **options, **more) for more in ({}, {"shards": 4}))
        assert sharded.impossible == one.impossible == (41, pages[40], 1)
        assert (sharded.verdict, sharded.log_e_value) == ("rejected at row 41", math.inf)
        assert sharded.all_groups[0].group == one.all_groups[0].group == str(40 % 7)
        columns = {"arm": pages, "user": users, "who": users}
        options |= {"unit": "who", "reference": feint.Split([0.5, 0.5]), "n_arms": 2}
        one, sharded = (feint.audit_log(pa.table(columns), **options, **more) for more in ({}, {"shards": 4}))
        assert sharded.changed == one.changed is not None
        assert (sharded.rejected_at, sharded.repeated) == (one.rejected_at, one.repeated)

    def test_estimated_propensities(self):
        """Three arms and the pulled one's propensity: groups are not tested, and E is the mean of the other two."""
        rng = np.random.default_rng(1)
        columns = {"arm": rng.integers(0, 3, 300), "user": np.arange(300) % 9, "propensity": [1 / 3] * 300}
        one, report = (
            feint.audit_log(pa.table(columns), group="user", n_arms=3, **more) for more in ({}, {"shards": 3})
        )
        assert [*report.log_e_values] == ["product", "average"]
        assert report.warnings == one.warnings  # about sums over all rows
        with pytest.raises(ValueError, match="probabilities of all arms; leave `dependent_groups` out"):
            feint.audit_log(pa.table(columns), group="user", n_arms=3, dependent_groups=True)

    def test_the_auditors_own_draws_are_not_multiplied(self):
        """Every shard draws the same numbers, so only the average is left."""
        rng, n = np.random.default_rng(2), 40
        features = {f"x_{a}": rng.normal(size=n) for a in range(4)}
        columns = {"arm": rng.integers(0, 4, n), "user": np.arange(n) % 4, "reward": rng.normal(size=n), **features}
        report = feint.audit_log(
            pa.table(columns), group="user", context="x", shards=2, initial_round=False,
            reference=feint.LinearThompsonSampling(shared=True),
        )  # fmt: skip
        assert [*report.log_e_values] == ["average"]


def test_the_hash_is_fixed():
    """The shard of a label does not depend on its type, the machine or the version."""
    labels = ["a", "b", "user 17", "é", "0", ""]
    assert ShardOf(16).numbers(labels).tolist() == [shard_by_hand(label, 16) for label in labels]
    for cells in (
        np.array([3, 10]),
        np.array([3.0, 10.0]),
        np.array([3, 10], dtype=np.float32),
        [3, 10.0],
        ["3", " 10"],
    ):
        assert ShardOf(7).numbers(cells).tolist() == [shard_by_hand("3", 7), shard_by_hand("10", 7)]
    counts = np.bincount(ShardOf(16).numbers([f"user-{i:06}" for i in range(16_000)]))
    assert abs(counts - 1_000).max() < 200  # 6.5 standard deviations


class TestExactly:
    """Enumerate every log of a few rows, with its probability."""

    PI = (0.5, 0.9, 0.3)  # of arm 1, by group
    A, B = groups_by_hand(2, 2, 2)
    LABELS = (A[0], B[0], A[1])  # two groups in shard 0, one in shard 1

    @pytest.fixture
    def readings(self, monkeypatch):
        """Return a function that returns the three e-values after every row, (3, n)."""
        kept = []

        def recording(*given):
            kept.append(original(*given))
            return kept[-1]

        original = merge.combine_shards
        monkeypatch.setattr(merge, "combine_shards", recording)

        def found(arms, groups, **options):
            pi = np.array([self.PI[g] for g in groups])
            columns = {"arm": arms, "user": [self.LABELS[g] for g in groups], "p_0": 1 - pi, "p_1": pi}
            report = feint.audit_log(pa.table(columns), group="user", shards=2, explain=False, **options)
            rows, parts = kept.pop()
            assert rows.tolist() == ([*range(1, len(arms) + 1)] if "blocks" in options else [len(arms)])
            values = np.exp(list(parts.values()))
            assert math.exp(report.log_e_value) == pytest.approx(values[:, -1].mean())
            return values

        return found

    def check_every_node(self, readings, order, rows):
        """`order(arms)` is the group of the next row, known before its pull."""
        values = {}
        for arms in itertools.product((0, 1), repeat=rows):
            groups = [order(arms[:t]) for t in range(rows)]
            found = readings(arms, groups, blocks=1)
            found = np.vstack([found, found.mean(axis=0)])
            for t in range(rows):
                node = values.setdefault(arms[: t + 1], found[:, t])
                assert found[:, t] == pytest.approx(node, rel=1e-12)  # what comes later changes no reading
        for t in range(rows):
            for arms in itertools.product((0, 1), repeat=t):
                p = self.PI[order(arms)]
                after = (1 - p) * values[*arms, 0] + p * values[*arms, 1]
                assert (after <= values.get(arms, np.ones(4)) * (1 + 1e-12)).all()

    @pytest.mark.parametrize(
        "order",
        [pytest.param(order, marks=[] if i in (0, 37, 89) else pytest.mark.slow) for i, order in enumerate(ORDERS)],
    )
    def test_rows_in_any_order(self, readings, order):
        self.check_every_node(readings, lambda arms: order[len(arms)], rows=6)

    def test_an_order_that_depends_on_the_pulls(self, readings):
        """Group 2 arrives before group 1 if arm 1 is pulled first, and gets its weight."""
        self.check_every_node(readings, lambda arms: 0 if not arms else (sum(arms) + len(arms) * arms[0]) % 3, rows=6)

    @pytest.mark.parametrize("dependent", [False, True])
    def test_a_group_that_copies_another(self, readings, dependent):
        """Groups 0 and 2, in one shard: each keeps its claim given its own past, and 2 repeats what 0 did. Bets on all
        rows of a shard then win on average; with `dependent_groups` E has the mean 1, at the end.
        """
        pi, self.PI = self.PI, (0.5, 0.9, 0.5)
        mean = 0.0
        for arms in itertools.product((0, 1), repeat=4):
            rows, groups = [arm for arm in arms for _ in range(2)], [0, 2] * 4
            mean += readings(rows, groups, dependent_groups=dependent).mean(axis=1) / 2**4
        self.PI = pi
        if dependent:
            assert mean == pytest.approx([1.0, 1.0], rel=1e-12)
        else:
            assert mean[0] > 1.01  # the product
            assert mean[1] > 1.01  # and the average


class TestBlocks:
    def test_a_row_is_named(self, shop):
        end = feint.audit_log(shop, group="user", shards=4)
        blocks = feint.audit_log(shop, group="user", shards=4, blocks=500)
        assert blocks.history_rows.tolist() == [*range(500, 6_001, 500)]
        assert blocks.log_e_value == pytest.approx(end.log_e_value, abs=1e-12)
        assert blocks.rejected_at % 500 == 0
        assert blocks.rejected_at < end.rejected_at == 6_000
        table = pq.read_table(shop)
        for rows in (blocks.rejected_at, blocks.rejected_at - 500):
            cut = feint.audit_log(table[:rows], group="user", shards=4)
            where = blocks.history_rows.tolist().index(rows)
            assert cut.log_e_value == pytest.approx(blocks.history_log_e_values[where], abs=1e-9)
            assert cut.rejected == (rows == blocks.rejected_at)

    def test_blocks_end_between_instants(self):
        arms, times = [0, 1] * 20, [i // 7 for i in range(40)]
        table = pa.table(
            {"arm": arms, "user": [str(i % 5) for i in range(40)], "time": times, "p_0": [0.5] * 40, "p_1": [0.5] * 40}
        )
        report = feint.audit_log(table, group="user", shards=3, blocks=10)
        # Instants begin at rows 1, 8, 15, 22, 29 and 36: two in each block of ten, and in the third and fourth one.
        assert report.history_rows.tolist() == [14, 21, 35, 40]


class TestExplained:
    """A rejection is explained from the rows that have most of the evidence."""

    def test_by_the_group_that_is_bent(self, shop):
        found = feint.audit_log(shop, group="user", shards=4)
        table = pq.read_table(shop)
        alone = feint.audit_log(table.filter(pa.array([u == "user 17" for u in table["user"].to_pylist()])))
        assert found.diagnosis.kind == alone.diagnosis.kind
        assert found.diagnosis.words == alone.diagnosis.words
        assert found.cause.arms == (2,)
        users = table["user"].to_pylist()
        assert {users[row - 1] for row in (found.cause.first_row, found.cause.last_row)} == {"user 17"}
        assert any("only in the group user 17, which" in warning for warning in found.warnings)
        assert feint.audit_log(shop, group="user", shards=4, explain=False).diagnosis is None

    def test_by_a_shard_where_all_groups_are(self):
        """Every group pulls arm 1 too often, and no group alone has much evidence."""
        rng, n = np.random.default_rng(8), 6_000
        users = [f"u{u}" for u in rng.integers(0, 400, n)]
        table = pa.table({"arm": (rng.random(n) < 0.6).astype(int), "user": users, "p_0": [0.5] * n, "p_1": [0.5] * n})
        found = feint.audit_log(table, group="user", shards=4)
        said = next(warning for warning in found.warnings if " of 4, which" in warning)
        shard = int(said.split(" of 4, which")[0].split()[-1]) - 1
        where = [shard_by_hand(user, 4) for user in users]
        log_e = [
            feint.audit_log(table.filter(pa.array([w == s for w in where])), group="user", explain=False).log_e_value
            for s in range(4)
        ]
        assert shard == int(np.argmax(log_e))
        assert where[found.cause.first_row - 1] == shard
        assert found.cause.arms == (1,)
        assert found.diagnosis is not None

    def test_batches_that_can_be_read_once(self, shop, monkeypatch):
        from feint.auditing.readers import arrow_log

        table = pq.read_table(shop)
        whole = feint.audit_log(iter(table.to_batches(max_chunksize=999)), group="user", shards=3)
        assert whole.diagnosis is not None  # a short log is kept
        monkeypatch.setattr(arrow_log.OnePassLog, "can_be_read_again", False)
        found = feint.audit_log(iter(table.to_batches(max_chunksize=999)), group="user", shards=3)
        assert found.diagnosis is None
        assert any("can be read only once" in warning for warning in found.warnings)


class TestKept:
    def audit(self, log, folder, **options):
        return feint.audit_log(log, group="user", out=folder, **{"shards": 4, **options})

    def test_only_what_is_missing_is_done(self, shop, tmp_path, monkeypatch):
        ran = []
        original = run.audit_shard
        monkeypatch.setattr(run, "audit_shard", lambda task: (ran.append(task.shard), original(task))[1])
        first = json.loads(json.dumps(self.audit(shop, tmp_path / "out").to_json()))  # tuples become lists
        assert ran == [0, 1, 2, 3]
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "manifest.json", "report.json", *(f"shard-0000{s}.npz" for s in range(4))
        ]  # fmt: skip
        assert json.loads((tmp_path / "out" / "report.json").read_text()) == first
        assert json.loads(json.dumps(self.audit(shop, tmp_path / "out").to_json())) == first
        (tmp_path / "out" / "shard-00002.npz").unlink()
        damaged = tmp_path / "out" / "shard-00001.npz"
        damaged.write_bytes(damaged.read_bytes()[:-1000])
        del ran[:]
        assert json.loads(json.dumps(self.audit(shop, tmp_path / "out").to_json())) == first
        assert ran == [1, 2]

    def test_other_audits_are_refused(self, shop, tmp_path):
        self.audit(shop, tmp_path / "out", shards=2)
        for options, message in (
            ({"shards": 3}, "its shards is '2', not '3'"),
            ({"shards": 2, "alpha": 0.01}, "its alpha is '0.05', not '0.01'"),
            ({"shards": 2, "blocks": 100}, "its blocks is 'None', not '100'"),
        ):
            with pytest.raises(ValueError, match=f"has shards of another audit: {message}; give another folder"):
                self.audit(shop, tmp_path / "out", **options)
        copy = tmp_path / "log.parquet"
        copy.write_bytes(shop.read_bytes())
        with pytest.raises(ValueError, match="its log is another one, or has changed"):
            self.audit(copy, tmp_path / "out", shards=2)
        with pytest.raises(ValueError, match="something other than shards"):
            self.audit(copy, tmp_path)
        with pytest.raises(ValueError, match="Give files, or omit `out`"):
            self.audit(pq.read_table(shop), tmp_path / "new")


class TestWorkers:
    def test_two_workers(self, shop, tmp_path):
        """Equal shards give equal numbers, to the last bit; what is wrong with a log is told in the same words."""
        here = feint.audit_log(shop, group="user", shards=16)
        there = feint.audit_log(shop, group="user", workers=2, out=tmp_path / "out")
        assert there.shards.n == 16
        assert there.to_json() == here.to_json()

    @pytest.mark.slow
    def test_one_worker_and_bad_rows(self, shop, tmp_path):
        here = feint.audit_log(shop, group="user", shards=5)
        assert feint.audit_log(shop, group="user", shards=5, workers=1).to_json() == here.to_json()
        bad = tmp_path / "log.csv"
        bad.write_text("arm,user,p_0,p_1\n0,a,0.500,0.500\n1,b,0.500,0.600\n")
        messages = []
        for more in ({}, {"workers": 1}):
            with pytest.raises(ValueError, match=r"line 3: probabilities sum to 1\.1") as error:
                feint.audit_log(bad, group="user", shards=2, **more)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a log of 600,000 rows in 400 groups, and the report of an undisturbed audit."""
    rng, n = np.random.default_rng(4), 600_000
    path = tmp_path_factory.mktemp("long") / "log.parquet"
    columns = {"arm": rng.integers(0, 3, n), "user": rng.integers(0, 400, n), "reward": rng.integers(0, 2, n)}
    pq.write_table(pa.table(columns), path, row_group_size=100_000)
    claim = {"family": feint.Bernoulli(), "n_arms": 3, "initial_round": False}
    report = feint.audit_log(path, group="user", shards=8, **claim)
    return path, json.loads(json.dumps(report.to_json()))  # tuples become lists


@pytest.mark.slow
class TestKilled:
    """Kill real processes; what they leave equals an undisturbed audit in one process."""

    def start(self, log, address, out):
        words = ["--reference", "beta", "--arms", 3, "--no-initial-round", "--group", "user", "--shards", 8, "--json"]
        return start("-m", "feint", "audit", log, *words, "--scheduler", address, "--out", out)

    def kept(self, out):
        return len([*out.glob("shard-*.npz")])

    def test_a_worker(self, long, tmp_path):
        log, undisturbed = long
        with cluster(tmp_path) as found:
            client = self.start(log, found.address, tmp_path / "out")
            wait_until(lambda: self.kept(tmp_path / "out"), client)
            found.workers[0].send_signal(signal.SIGKILL)
            assert self.kept(tmp_path / "out") < 8
            said, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 1, errors
        assert json.loads(said) == undisturbed

    def test_a_client(self, long, tmp_path):
        log, undisturbed = long
        out = tmp_path / "out"
        with cluster(tmp_path) as found:
            client = self.start(log, found.address, out)
            wait_until(lambda: self.kept(out) > 1, client)
            client.send_signal(signal.SIGKILL)
            client.communicate(timeout=HANGS)
            first = {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*.npz")}
            assert 1 < len(first) < 8
            again = self.start(log, found.address, out)
            said, errors = again.communicate(timeout=HANGS)
        assert again.returncode == 1, errors
        assert json.loads(said) == undisturbed
        assert {name: (out / name).stat().st_mtime_ns for name in first} == first
        assert not [*out.glob(".*")]  # what was left unfinished is gone


class TestCommand:
    def audit(self, *words):
        return CliRunner().invoke(app, ["audit", *map(str, words)], env={"COLUMNS": "120", "NO_COLOR": "1"})

    def test_it_says_when_e_was_read(self, shop):
        done = self.audit(shop, "--group", "user", "--shards", 4)
        assert done.exit_code == 1, done.output
        assert "rejected at row 6,000 of 6,000" in done.output
        assert "4, by group; E was read at the end of the log only" in done.output
        done = self.audit(shop, "--group", "user", "--shards", 4, "--blocks", 1000)
        assert "E was read after every 1,000 rows" in done.output
        done = self.audit(shop, "--group", "user", "--dependent-groups")
        assert "anytime" not in done.output
        assert "1, by group" in done.output

    def test_one_agent_is_not_sharded(self, shop):
        for words in (["--shards", 4], ["--workers", 2], ["--blocks", 10], ["--scheduler", "tcp://127.0.0.1:1"]):
            done = self.audit(shop, *words)
            assert "A log without groups is one agent's and cannot be sharded" in str(done.exception)

    def test_what_does_not_fit_together(self, shop, tmp_path):
        for words, message in (
            (["--out", tmp_path / "x"], "this one has none"),
            (["--blocks", 5, "--dependent-groups"], "E is read once, at the end"),
            (["--shards", 0], "give the number of shards, 1 or more"),
            (["--workers", 2, "--scheduler", "tcp://x"], "not both"),
            (["--workers", 0], "give a whole number of processes"),
        ):
            done = self.audit(shop, "--group", "user", *words)
            assert message in str(done.exception)
