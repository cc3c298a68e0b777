"""Vowpal Wabbit's dsjson: JSON lines, each a decision of a contextual bandit.

A line such as

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1, "a": [2, 1], "p": [0.8, 0.2],
     "Timestamp": "2026-01-01T00:00:00Z", "c": {…}}

says that action 2 was taken with probability 0.8 and cost −1. `a` numbers the actions from 1, the one taken first;
`p` has their probabilities in the same order; `_labelIndex` is the same action counted from 0. It becomes

- arm: "2", the first of `a`, as text
- reward: 1, minus the cost
- propensity: 0.8
- probabilities: {"2": 0.8, "1": 0.2}
- time: the Timestamp, if the first lines have one

A row that contradicts itself is malformed. So is one that is not a decision with an outcome: an observation by itself,
a decision in several slots, one not carried out (`_skipLearn`), or one of a log that was thinned out (`pdrop`).
"""

import math
from typing import Any

COLUMNS = ("arm", "reward", "propensity", "probabilities")
TIME = "Timestamp"
_SINGLE_PRECISION = 1e-5  # in which these logs are written


def is_decision(row: dict[str, Any]) -> bool:
    """Return whether a row is written in this format."""
    return "_label_probability" in row and "a" in row and "p" in row


def decision(row: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a decision; a ValueError says why a row is not one."""
    if "_outcomes" in row:
        raise ValueError("it decides several slots at once (_outcomes)")
    missing = [name for name in ("_label_cost", "_label_probability", "a", "p") if name not in row]
    if missing:
        raise ValueError(f"it is not a decision with an outcome: it lacks {', '.join(missing)}")
    if row.get("_skipLearn"):
        raise ValueError("its action was not carried out (_skipLearn)")
    if row.get("pdrop"):
        raise ValueError(
            "rows like it were left out of the log at random (pdrop), and if that depended on the action, those left "
            "do not have the logged probabilities; if it did not, take pdrop out of the lines"
        )
    actions, chances = row["a"], row["p"]
    if not (isinstance(actions, list) and isinstance(chances, list) and len(actions) == len(chances) > 0):
        raise ValueError("a and p are not lists of the same length")
    if not all(type(action) is int and action >= 1 for action in actions) or len({*actions}) < len(actions):
        raise ValueError("a does not number the actions from 1, each once")
    cost, propensity = row["_label_cost"], row["_label_probability"]
    if not all(type(number) in (int, float) for number in (cost, propensity, *chances)):
        raise ValueError("_label_cost, _label_probability or p has something that is not a number")
    taken = actions[0]
    if row.get("_label_Action", taken) != taken:
        raise ValueError(f"_label_Action is {_as_shown(row['_label_Action'])}, but a starts with {taken}")
    if row.get("_labelIndex", taken - 1) != taken - 1:
        raise ValueError(f"_labelIndex, from 0, is {_as_shown(row['_labelIndex'])}, but a, from 1, starts with {taken}")
    if not math.isclose(chances[0], propensity, rel_tol=_SINGLE_PRECISION):
        raise ValueError(f"_label_probability is {propensity}, but p starts with {chances[0]}")
    return {
        "arm": str(taken),
        "reward": 0 - cost,  # not -cost, which may be −0.0
        "propensity": propensity,
        "probabilities": dict(zip(map(str, actions), chances, strict=True)),
        "time": row.get(TIME),
    }


def _as_shown(value: Any) -> str:
    return str(value)[:20] if isinstance(value, str | int | float) else "no number"
