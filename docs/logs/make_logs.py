"""Write the logs of docs/audit.md into a folder: `python docs/logs/make_logs.py FOLDER`.

Every log comes from an agent that does what it claims; `…-bent` comes from one that does not.

- trial.csv: 2,000 patients, three doses, Thompson Sampling with Beta(1, 1) priors, outcomes known 5 to 30 days later
  and in 5 % of the cases never. Bent: three draws are made for the high dose, and the best counts.
- pages.csv: 3,000 visitors, three pages, the same method, learning after every 100 visitors. There is no bent one:
  the guide shows what happens if the batches are not stated.
- shop.csv.gz: 50 users, 20 items, 6,000 rows, and the probabilities of all items. Bent: three users are shown item-17
  more often than the log says.
- router.jsonl: 4,000 requests, five models; the propensity is the share of 200 Monte Carlo draws. Bent: a tenth
  of the requests go to the model "own".
- ads.dsjson: 2,000 decisions as Vowpal Wabbit writes them. Bent: nothing but the logging, which writes the
  probabilities of the next decision.
- split.csv: 6,000 visitors, half of them to each side. Bent: from row 3,001 on 60 % see the treatment.
- home.csv: 2,000 visitors of a news page, of whom age and clicks are known, three teasers, linear Thompson Sampling on
  the minutes that they read. Bent: 5 % of the visitors see the publisher's own teaser.
"""

import csv
import gzip
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 1, 5, 8)


def trial(rng, bent):
    """Yield the trial's rows. Outcomes come late: the posterior before a patient has those that were known by then."""
    doses, effects = ["control", "low", "high"], [0.35, 0.5, 0.4]
    successes, failures = np.ones(3), np.ones(3)
    waiting, now = [], START
    yield "time", "dose", "response", "response_time"
    for _ in range(2_000):
        now += timedelta(minutes=int(rng.integers(1, 360)))
        for due, arm, outcome in [item for item in waiting if item[0] <= now]:
            successes[arm] += outcome
            failures[arm] += 1 - outcome
            waiting.remove((due, arm, outcome))
        draws = rng.beta(successes, failures)
        if bent:
            draws[2] = max(draws[2], *rng.beta(successes[2], failures[2], 2))
        arm = int(draws.argmax())
        outcome, due = int(rng.random() < effects[arm]), now + timedelta(hours=int(rng.integers(120, 720)))
        if rng.random() < 0.05:
            yield now.isoformat(), doses[arm], "", ""
        else:
            waiting.append((due, arm, outcome))
            yield now.isoformat(), doses[arm], outcome, due.isoformat()


def pages(rng):
    """Yield rows of an agent that learns after every 100 visitors."""
    names, rates = ["plain", "photo", "video"], [0.1, 0.14, 0.12]
    known, pending = np.ones((2, 3)), np.zeros((2, 3))
    yield "page", "bought"
    for row in range(3_000):
        if row % 100 == 0:
            known, pending = known + pending, np.zeros((2, 3))
        arm = int(rng.beta(*known).argmax())
        bought = int(rng.random() < rates[arm])
        pending[1 - bought, arm] += 1
        yield names[arm], bought


def shop(rng, bent):
    """Yield rows with the probabilities of all items, which depend on the user and the moment."""
    items = [f"item-{i:02d}" for i in range(20)]
    tastes = rng.normal(size=(50, 20))
    yield "user", "item", *(f"p_{item}" for item in items)
    for _ in range(6_000):
        user = int(rng.integers(50))
        weights = np.exp(tastes[user] + 0.5 * rng.normal(size=20))
        p = weights / weights.sum()
        item = int(rng.choice(20, p=p))
        if bent and user in (7, 23, 41) and rng.random() < 0.3:
            item = 17
        yield f"user-{user:02d}", items[item], *(f"{share:.8f}" for share in p)


def router(rng, bent):
    """Yield rows of Thompson Sampling on the quality of answers, with how often 200 draws chose the same model."""
    models, quality = ["own", "small", "medium", "large", "code"], [0.5, 0.45, 0.55, 0.7, 0.6]
    pulls, sums = np.full(5, 4.0), np.full(5, 2.0)
    for row in range(4_000):
        arm = int(rng.normal(sums / pulls, pulls**-0.5).argmax())
        if bent and rng.random() < 0.1:
            arm = 0
        draws = rng.normal(sums / pulls, pulls**-0.5, (200, 5)).argmax(1)
        reward = round(float(rng.normal(quality[arm], 1.0)), 3)
        yield {"id": row, "model": models[arm], "propensity": float((draws == arm).mean()), "reward": reward}
        pulls[arm] += 1
        sums[arm] += reward


def ads(rng, bent):
    """Yield decisions among four ads, with the chosen ad first in `a`."""
    table = rng.dirichlet([1.0, 1.0, 1.0, 1.0], 2_001).round(4)
    table[:, 0] += 1 - table.sum(1)
    for row in range(2_000):
        p = table[row] / table[row].sum()
        arm = int(rng.choice(4, p=p))
        order = [arm, *(a for a in range(4) if a != arm)]
        logged = table[row + 1] if bent else table[row]
        yield {
            "_label_cost": -int(rng.random() < 0.05),
            "_label_probability": round(float(logged[arm]), 4),
            "_labelIndex": arm,
            "Timestamp": (START + timedelta(seconds=7 * row)).isoformat() + "Z",
            "a": [a + 1 for a in order],
            "p": [round(float(logged[a]), 4) for a in order],
        }


def split(rng, bent):
    """Yield rows that split visitors evenly; if bent, only up to row 3,000."""
    yield "time", "side"
    for row in range(6_000):
        treated = rng.random() < (0.6 if bent and row >= 3_000 else 0.5)
        yield (START + timedelta(seconds=row)).isoformat(), "treatment" if treated else "control"


def home(rng, bent):
    """Yield rows of linear Thompson Sampling with an intercept, priors N(0, 1) of coefficients and noise of sd 1."""
    yield "teaser", "minutes", "age", "clicks"
    teasers = "sport", "culture", "own"
    taste = np.array([[0.3, -0.4, 1.0], [-0.2, 0.5, 1.0], [0.0, 0.1, 0.6]])  # of age, clicks, and everyone
    information, moments = np.repeat(np.eye(3)[None], 3, axis=0), np.zeros((3, 3))
    for _ in range(2_000):
        visitor = np.append(rng.normal(size=2).round(3), 1.0)
        covariances = [np.linalg.inv(one) for one in information]
        drawn = [rng.multivariate_normal(v @ m, v) for v, m in zip(covariances, moments, strict=True)]
        arm = int(np.argmax(np.array(drawn) @ visitor))
        if bent and rng.random() < 0.05:
            arm = 2
        minutes = round(float(visitor @ taste[arm] + rng.normal()), 4)
        information[arm] += np.outer(visitor, visitor)
        moments[arm] += visitor * minutes
        yield teasers[arm], minutes, visitor[0], visitor[1]


def write(path, rows):
    """Write tuples as CSV and dictionaries as JSON lines."""
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        if path.suffix in (".jsonl", ".dsjson"):
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            csv.writer(file, lineterminator="\n").writerows(rows)


def main(folder):
    """Write all logs into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    logs = {"trial.csv": trial, "shop.csv.gz": shop, "router.jsonl": router, "ads.dsjson": ads, "split.csv": split}
    for seed, (name, rows) in enumerate(logs.items()):
        stem, _, ending = name.partition(".")
        write(folder / name, rows(np.random.default_rng([seed, 0]), False))
        write(folder / f"{stem}-bent.{ending}", rows(np.random.default_rng([seed, 1]), True))
    write(folder / "pages.csv", pages(np.random.default_rng(5)))
    for bent, name in enumerate(("home.csv", "home-bent.csv")):
        write(folder / name, home(np.random.default_rng([6, bent]), bool(bent)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/logs/make_logs.py FOLDER")
    main(Path(sys.argv[1]))
