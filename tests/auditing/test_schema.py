"""Reports of every mode keep to docs/audit.schema.json, and the guide names every field."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import feint
from audit_reports import REPORTS
from feint.auditing.report import SCHEMA
from json_schema import problems

ROOT = Path(__file__).parent.parent.parent
DOCUMENTED = json.loads((ROOT / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")


def recomputed(**options):
    rng = np.random.default_rng(8)
    arms = np.concatenate([[0, 1], rng.integers(2, size=120)])
    return feint.audit(arms, (rng.random(122) < 0.3 + 0.4 * arms) * 1, n_arms=2, family=feint.Bernoulli(), **options)


EVERY = {
    **REPORTS,
    "rewards": recomputed,
    "rewards of groups": lambda: recomputed(groups=np.arange(122) % 3, n_groups=3),
    "two propensities": lambda: feint.audit([0, 1, 1, 0] * 9, propensities=[0.5] * 36, n_arms=2),
    "shards": lambda: feint.audit_log(
        pyarrow.table({"arm": [0, 1] * 20, "user": [0, 0, 1, 2] * 10, "p_0": [0.5] * 40, "p_1": [0.5] * 40}),
        group="user",
        shards=2,
        blocks=20,
    ),
    "nothing tested": lambda: feint.audit([0, 0, 0], [1, 0, 1], n_arms=2),
}


@cache
def honest():
    return EVERY["honest"]().to_json()


@pytest.mark.parametrize("kind", EVERY)
def test_reports_keep_to_it(kind):
    found = json.loads(json.dumps(EVERY[kind]().to_json(), allow_nan=False))
    assert list(problems(found, DOCUMENTED)) == []
    assert set(found) == set(DOCUMENTED["properties"]) == set(DOCUMENTED["required"])


def test_every_mode_is_among_them():
    modes = {make().mode for make in EVERY.values()}
    assert modes == set(DOCUMENTED["properties"]["mode"]["enum"])
    assert DOCUMENTED["properties"]["feint_audit"] == {"const": SCHEMA}
    assert f"version of the schema, {SCHEMA};" in GUIDE


def test_the_guide_names_every_field():
    listed = GUIDE.split("## The JSON")[1]
    assert sorted(name for name in DOCUMENTED["properties"] if f"`{name}`" not in listed) == []


@pytest.mark.parametrize(
    "change",
    [
        {"rejected_at": 0}, {"severity": "red"}, {"alpha": 1}, {"rows": 1.5}, {"arms": []}, {"feint_audit": 3},
        {"log_e_values": {"boosts": None, "serial": 0.0}}, {"impossible": {"row": 1, "arm": 0}},
        {"p_value": 1.1}, {"warnings": [1]}, {"rejected": None}, {"history": {"rows": []}},
    ],
    ids=str,
)  # fmt: skip
def test_what_breaks_it_is_seen(change):
    report = honest()
    assert len(list(problems({**report, **change}, DOCUMENTED))) == 1
    (name,) = change
    assert list(problems({key: value for key, value in report.items() if key != name}, DOCUMENTED)) == [
        f"$ lacks {name}"
    ]


def test_severities():
    """Arm 1 has the probability 0.1, so a pull of arm 1 multiplies E, and one of arm 0 divides it."""
    seen = {}
    for pulls in range(1, 12):
        report = feint.audit([1] * pulls, probabilities=[[0.9, 0.1]] * pulls, explain=False)
        seen.setdefault(report.severity, []).append(report.log_e_value)
        assert (report.severity == "alarm") == report.rejected
    assert list(seen) == ["none", "watch", "alarm"]
    assert max(seen["none"]) < 0.5 * math.log(20) <= min(seen["watch"])
    assert max(seen["watch"]) < math.log(20) <= min(seen["alarm"])
    # A watch ends when E falls again, here as arm 1 gets back to its share; an alarm stays.
    watched, alarmed = len(seen["none"]) + 1, len(seen["none"]) + len(seen["watch"]) + 1
    for pulls, severity in ((watched, "none"), (alarmed, "alarm")):
        arms = [1] * pulls + [0] * 9 * pulls
        report = feint.audit(arms, probabilities=[[0.9, 0.1]] * len(arms), explain=False)
        assert (report.severity, report.log_e_value < 0.5 * math.log(20)) == (severity, True)
