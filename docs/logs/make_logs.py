"""Write the logs of docs/audit.md into a folder: `python docs/logs/make_logs.py FOLDER`.

Every log comes from an agent that does what it claims. A log `…-bent` comes from an agent that does not; how it departs
is said after "Bent".

- trial.csv: 2,000 patients, three doses, Thompson Sampling with Beta(1, 1) priors. Outcomes become known 5 to 30 days
  later, and in 5 % of the cases never. Bent: three draws are made for the high dose, and the best of them counts.
- pages.csv: 3,000 visitors, three pages, the same method, learning after every 100 visitors. There is no bent log: the
  guide shows what happens if the batches are not stated.
- shop.csv.gz: 50 users, 20 items, 6,000 rows, and the probabilities of all items. Bent: three users are shown item-17
  more often than the log says.
- router.jsonl: 4,000 requests, five models; the propensity is the share of 200 Monte Carlo draws. Bent: a tenth
  of the requests go to the model "own".
- ads.dsjson: 2,000 decisions as Vowpal Wabbit writes them. Bent: the agent is honest, but its logging writes the
  probabilities of the next decision.
- split.csv: 6,000 visitors, half of them to each side. Bent: from row 3,001 on 60 % see the treatment.
- blocks.csv: 1,200 patients of four sites, permuted blocks of 4 or 6 in each site. Bent: a tenth of those who are due
  to be controls are treated.
- costs.jsonl: 4,000 requests, three models, Thompson Sampling on quality less cost. Bent: "large" costs half as much.
- coin.csv, urn.csv, held_out.csv, control.csv, tempered.csv, capped.csv, headlines.csv: the other designs of the
  guide, without bent logs.
- home.csv: 2,000 visitors of a news page, whose age and clicks are known; three teasers; linear Thompson Sampling on
  the minutes that they read. Bent: 5 % of the visitors see the publisher's own teaser.

Each of the last five shows an option. If nothing else is said, bent agents send 5 % of their draws to one arm.

- burn-in.csv: 1,000 patients, three doses, the first 150 drawn uniformly, then Thompson Sampling with Beta(1, 1)
  priors.
- interim.csv: the same method; outcomes are known at the interim analyses, after 60, 180, 300, 500 and 750 patients.
- visits.csv: 3,000 visits of about 1,500 visitors to two experiments with three pages each. A visitor who comes back
  sees the same page. Bent: 2 % of the visitors who come back see any page.
- fleet.jsonl: 2,000 requests, three models, of which some are down now and then.
- pilot.csv: 1,500 messages, sent or not, with the probability of sending in every row. Bent: 15 % more are sent.
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


class Doses:
    """An agent that uses Thompson Sampling with Beta(1, 1) priors on three doses."""

    def __init__(self, rng, bent, favoured):
        self.rng, self.bent, self.favoured = rng, bent, favoured
        self.known = np.ones((2, 3))

    def forced(self):
        """Return whether a bent agent takes its favoured arm whatever it drew."""
        return self.bent and self.rng.random() < 0.05

    def draw(self, arms=(0, 1, 2)):
        """Return the best of one draw per arm."""
        draws = self.rng.beta(*self.known)
        return self.favoured if self.forced() else max(arms, key=lambda arm: draws[arm])

    def learn(self, arm, outcome):
        """Add an outcome."""
        self.known[1 - outcome, arm] += 1


def burn_in(rng, bent):
    """Yield a trial whose first 150 patients are randomised evenly."""
    doses, effects, agent = ["control", "low", "high"], [0.3, 0.5, 0.4], Doses(rng, bent, 0)
    yield "dose", "response"
    for row in range(1_000):
        arm = agent.draw() if row >= 150 else int(rng.integers(3))
        outcome = int(rng.random() < effects[arm])
        agent.learn(arm, outcome)
        yield doses[arm], outcome


def interim(rng, bent):
    """Yield a trial that looks at its outcomes five times."""
    doses, effects, agent = ["control", "low", "high"], [0.3, 0.5, 0.4], Doses(rng, bent, 0)
    looks, waiting = [60, 180, 300, 500, 750], []
    yield "look", "dose", "response"
    for row in range(1_200):
        if row in looks:
            for item in waiting:
                agent.learn(*item)
            waiting = []
        arm = agent.draw()
        outcome = int(rng.random() < effects[arm])
        waiting.append((arm, outcome))
        yield sum(row >= look for look in looks), doses[arm], outcome


def visits(rng, bent):
    """Yield visits to two experiments; a visitor who comes back to one sees the same page, and all purchases count."""
    pages, rates, agent = ["plain", "photo", "video"], [0.1, 0.3, 0.2], Doses(rng, False, 0)
    seen = {}
    yield "visitor", "experiment", "page", "bought"
    for _ in range(3_000):
        visitor, experiment = int(rng.integers(1_500)), "AB"[int(rng.integers(2))]
        if (visitor, experiment) not in seen:
            seen[visitor, experiment] = agent.draw()
        elif bent and rng.random() < 0.02:
            seen[visitor, experiment] = int(rng.integers(3))
        arm = seen[visitor, experiment]
        bought = int(rng.random() < rates[arm])
        agent.learn(arm, bought)
        yield f"v{visitor}", experiment, pages[arm], bought


def fleet(rng, bent):
    """Yield requests to models that go down and come up again."""
    models, quality, agent = ["small", "large", "code"], [0.4, 0.7, 0.6], Doses(rng, bent, 0)
    up = np.ones(3, dtype=bool)
    for row in range(2_000):
        flipped = up ^ (rng.random(3) < np.where(up, (0.0, 0.03, 0.01), 0.1))
        up = flipped if flipped.any() else up
        arm = agent.draw(np.flatnonzero(up).tolist())
        good = int(rng.random() < quality[arm])
        agent.learn(arm, good)
        yield {"id": row, "up": [models[a] for a in np.flatnonzero(up)], "model": models[arm], "good": good}


def pilot(rng, bent):
    """Yield decisions to send a message or not, with the probability of sending."""
    yield "sent", "probability"
    for _ in range(1_500):
        p = round(float(rng.uniform(0.2, 0.8)), 4)
        forced = bent and rng.random() < 0.15
        yield "yes" if forced or rng.random() < p else "no", p


def home(rng, bent):
    """Yield rows of linear Thompson Sampling: an intercept, a prior N(0, 1) of every coefficient, noise of sd 1."""
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


def blocks(rng, bent):
    """Yield rows of sites that shuffle blocks of 4 or 6."""
    left = {}
    yield "site", "arm"
    for _ in range(1_200):
        site = "ABCD"[rng.integers(4)]
        if not left.get(site):
            left[site] = list(rng.permutation(["control", "active"] * int(rng.choice([2, 3]))))
        arm = left[site].pop()
        yield site, "active" if bent and arm == "control" and rng.random() < 0.1 else arm


def costs(rng, bent):
    """Yield requests that go to the largest draw of quality less cost."""
    models, quality = ["small", "medium", "large"], [0.55, 0.65, 0.75]
    price = np.array([0.01, 0.05, 0.1 if bent else 0.2])
    known = np.ones((2, 3))
    for _ in range(4_000):
        arm = int((rng.beta(*known) - price).argmax())
        good = int(rng.random() < quality[arm])
        known[1 - good, arm] += 1
        yield {"model": models[arm], "reward": good}


def coin(rng):
    """Yield patients by Efron's biased coin."""
    ahead = 0  # of arm 0
    yield ("arm",)
    for _ in range(800):
        arm = int(rng.random() >= (0.5 if ahead == 0 else 1 / 3 if ahead > 0 else 2 / 3))
        ahead += 1 - 2 * arm
        yield (arm,)


def best(wins, losses):
    """Return P(arm is best) of Beta posteriors, by sums over a grid."""
    x = (np.arange(4_000) + 0.5) / 4_000
    logs = (wins[:, None] - 1) * np.log(x) + (losses[:, None] - 1) * np.log1p(-x)
    density = np.exp(logs - logs.max(1, keepdims=True))
    density /= density.sum(1, keepdims=True)
    below = density.cumsum(1) - density / 2
    p = np.array([(density[a] * np.delete(below, a, 0).prod(0)).sum() for a in range(len(wins))])
    return p / p.sum()


def learn(rng, rates, rows, choose, batch=1):
    """Yield arms and rewards of 0 and 1; `choose(rng, row, wins, losses)` sees them after every `batch` rows."""
    known, pending = np.ones((2, len(rates))), np.zeros((2, len(rates)))
    yield "arm", "reward"
    for row in range(rows):
        if row % batch == 0:
            known, pending = known + pending, np.zeros_like(pending)
        arm = int(choose(rng, row, *known))
        reward = int(rng.random() < rates[arm])
        pending[1 - reward, arm] += 1
        yield arm, reward


def urn(rng, row, wins, losses):
    """Draw a ball. The urn begins with 1 of each arm; a success adds 1 of its arm, a failure 1 of the other."""
    balls = wins + losses[::-1] - 1
    return rng.choice(2, p=balls / balls.sum())


def held_out(rng, row, wins, losses):
    """Show page 0 to a tenth of the visitors, and draw for the others."""
    return 0 if rng.random() < 0.1 else rng.beta(wins, losses).argmax()


def control(rng, row, wins, losses):
    """Give the control to 30 % of the patients, and draw among the other arms for the rest."""
    return 0 if rng.random() < 0.3 else 1 + rng.beta(wins[1:], losses[1:]).argmax()


def tempered(rng, row, wins, losses):
    """Raise P(best) to the power n/2N, N = 400."""
    weights = best(wins, losses) ** (row / 800)
    return rng.choice(len(wins), p=weights / weights.sum())


def capped(rng, row, wins, losses):
    """Keep each probability between 0.1 and 0.6, by scaling."""
    p, low, high = best(wins, losses), 0.0, 1e9
    for _ in range(200):
        scale = (low + high) / 2 if high < 1e3 else (low + 1e-9) ** 0.5 * high**0.5
        low, high = (scale, high) if np.clip(scale * p, 0.1, 0.6).sum() < 1 else (low, scale)
    p = np.clip(scale * p, 0.1, 0.6)
    return rng.choice(3, p=p / p.sum())


def headlines(rng, row, wins, losses):
    """In half of the rows draw again, until another arm is the best."""
    first = rng.beta(wins, losses).argmax()
    if rng.random() < 0.5:
        return first
    while True:
        again = rng.beta(wins, losses, (1_000, len(wins))).argmax(axis=1)
        if (again != first).any():
            return again[(again != first).argmax()]


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
    options = {
        "burn-in.csv": burn_in, "interim.csv": interim, "visits.csv": visits, "fleet.jsonl": fleet, "pilot.csv": pilot,
    }  # fmt: skip
    for seed, (name, rows) in enumerate(options.items(), 10):
        stem, _, ending = name.partition(".")
        write(folder / name, rows(np.random.default_rng([seed, 0]), False))
        write(folder / f"{stem}-bent.{ending}", rows(np.random.default_rng([seed, 1]), True))
    for bent, name in enumerate(("home.csv", "home-bent.csv")):
        write(folder / name, home(np.random.default_rng([6, bent]), bool(bent)))
    for name, rows in {"blocks.csv": blocks, "costs.jsonl": costs}.items():
        stem, _, ending = name.partition(".")
        write(folder / name, rows(np.random.default_rng(6), False))
        write(folder / f"{stem}-bent.{ending}", rows(np.random.default_rng(7), True))
    write(folder / "coin.csv", coin(np.random.default_rng(8)))
    pair, three, four = (0.3, 0.6), (0.3, 0.4, 0.45), (0.3, 0.3, 0.4, 0.5)
    write(folder / "urn.csv", learn(np.random.default_rng(9), pair, 300, urn))
    write(folder / "held_out.csv", learn(np.random.default_rng(10), three, 4_000, held_out, 100))
    write(folder / "control.csv", learn(np.random.default_rng(11), four, 800, control))
    write(folder / "tempered.csv", learn(np.random.default_rng(12), pair, 400, tempered))
    write(folder / "capped.csv", learn(np.random.default_rng(15), three, 600, capped))
    write(folder / "headlines.csv", learn(np.random.default_rng(14), four, 1_500, headlines))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/logs/make_logs.py FOLDER")
    main(Path(sys.argv[1]))
