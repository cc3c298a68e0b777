"""Reports of audits of every sort, and what a page says as plain text."""

from html.parser import HTMLParser

import numpy as np

import feint


def pull(rng, p):
    return (rng.random((len(p), 1)) > p.cumsum(1)).sum(1).clip(max=p.shape[1] - 1)


def audited(bend=0.0, rows=1_500, labels=None, **options):
    """Return an audit of pulls from known probabilities, of which the share `bend` goes to arm 1."""
    rng = np.random.default_rng(1)
    claims = np.tile([0.55, 0.25, 0.15, 0.05], (rows, 1))
    arms = pull(rng, (1 - bend) * claims + bend * np.eye(4)[1])
    if labels is not None:
        arms, options["n_arms"] = np.array(labels)[arms], labels
    if options.pop("propensities", False):
        return feint.audit(arms, propensities=np.full(rows, 0.25), n_arms=4, **options)
    return feint.audit(arms, probabilities=claims, **options)


def impossible():
    """Return an audit of a log whose row 301 pulls an arm of probability 0."""
    rng = np.random.default_rng(2)
    claims = np.tile([0.7, 0.3, 0.0], (800, 1))
    arms = pull(rng, claims)
    arms[[300, 500]] = 2
    labels = ["red", "green", "blue"]
    return feint.audit(np.array(labels)[arms], probabilities=claims, n_arms=labels)


def grouped():
    """Return an audit of 30 groups, of which the first is bent."""
    rng = np.random.default_rng(3)
    groups = np.arange(3_000) % 30
    claims = np.tile([0.6, 0.4], (3_000, 1))
    arms = np.where(groups == 0, 1, pull(rng, claims))
    return feint.audit(arms, probabilities=claims, groups=[f"shop {group}" for group in groups])


def damaged():
    """Return an audit that leaves out the rows of arm 9, since the claim has four arms."""
    rng = np.random.default_rng(4)
    claims = np.tile([0.25] * 4, (100, 1))
    arms = pull(rng, claims)
    arms[[3, 7]] = 9
    return feint.audit(arms, probabilities=claims, skip_bad=True)


def shifted():
    """Return an audit of pulls that are drawn with the probabilities of the row before, so that no arm is boosted."""
    rng = np.random.default_rng(5)
    claims = rng.dirichlet([1.0, 1.0, 1.0], 1_000)
    return feint.audit(pull(rng, np.roll(claims, 1, axis=0)), probabilities=claims)


REPORTS = {
    "rejected": lambda: audited(0.3),
    "honest": audited,
    "grouped": grouped,
    "impossible": impossible,
    "propensities": lambda: audited(propensities=True),
    "damaged": damaged,
    "explained otherwise": shifted,
    "untested groups": lambda: audited(propensities=True, groups=np.arange(1_500) % 3),
}


class PageReader(HTMLParser):
    """Read the sections, the text and the tags of a page, and whether every element is closed."""

    VOID = ("meta", "br", "path", "use")

    def __init__(self, text):
        super().__init__()
        self.sections, self.text, self.tags, self.ids, self._open = [], "", set(), [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        if tag == "section":
            self.sections.append(found["id"])
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data
