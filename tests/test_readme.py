"""README.md stays short and counts claims as their page does; test_guides.py types its commands."""

import re
from itertools import pairwise
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_it_stays_short():
    """The README is a first screen and little more; what is long belongs in the book."""
    lines = README.splitlines()
    assert len(lines) <= 110
    rows = [i for i, line in enumerate(lines) if line.startswith("|")]
    longest = run = 1 if rows else 0
    for before, after in pairwise(rows):
        run = run + 1 if after == before + 1 else 1
        longest = max(longest, run)
    assert longest <= 12  # ten rows, a head and its rule
    assert len(re.findall(r"!\[.*?\]\(docs/images/", README)) == 1


def test_it_counts_claims_as_the_page_of_claims_does():
    """The README has one sentence with the counts of docs/claims.md, and a link to it."""
    page = (Path(__file__).parent.parent / "docs" / "claims.md").read_text(encoding="utf-8")
    counts = re.findall(
        r"^- (?:the paper's|ours): (\d+) shown, (\d+) refuted, (\d+) undecided \(of (\d+)\)", page, re.M
    )
    (shown, refuted, undecided, total), ours = counts
    plain = " ".join(README.split())
    assert f"Of the paper's {total} claims {shown} are shown, {refuted} refuted and {undecided} undecided" in plain
    assert f"of our {ours[3]}, {ours[0]} are shown, {ours[1]} refuted and {ours[2]} undecided" in plain
    assert "[docs/claims.md](docs/claims.md)" in README
