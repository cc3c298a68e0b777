"""The paper's figures and ours, one file each (`contract` says what it must have), named as in `feint reproduce`.

The command and the book import this folder.
"""

# Names and titles stand here, where they cost no import: `feint reproduce --help` lists them.
PAPER_FIGURES = {
    "figure1": "Figure 1: the rate of Theorem 1",
    "figure2": "Figure 2: impact of the KL budget on confidence",
    "figure3": "Figure 3: impact of asymmetry",
    "figure4": "Figure 4: convergence of Γ(w_t) to Γ*",
    "figure5": "Figure 5: the KL boost and its closed-form underestimate",
}
OWN_EXPERIMENTS = {
    "approximations": "What the paper's two approximations do to Figures 1 to 4",
    "lemma2": "Lemma 2: the Bernoulli process",
    "constraint": "The KL constraint at every step",
    "detection": "The price of deception: sure against caught",
    "schedules": "The price of deception: schedules of the same total KL",
    "power": "The price of deception: power against its bound",
    "earning": "A deceiver who earns",
    "feedback": "Private rewards seldom or never seen",
    "goals": "Other goals: the top arms, and the arms above a threshold",
}
TITLES = {**PAPER_FIGURES, **OWN_EXPERIMENTS}
SEEDS_SEEN = (0, 1, 3, 7, 26, 1000, 1001)  # their data were seen when settings, ranges and statistics were chosen
GROUPS = {"paper": tuple(PAPER_FIGURES), "all": tuple(TITLES)}


def choose_experiments(words: list[str]) -> list[str]:
    """Return the experiments that are named, one by one or as a group, in the order of `TITLES`.

    >>> choose_experiments(["lemma2", "figure2", "figure1"])
    ['figure1', 'figure2', 'lemma2']
    """
    for word in words:
        if word not in {*TITLES, *GROUPS}:
            raise ValueError(f"There is no experiment {word!r}; choose among {', '.join([*TITLES, *GROUPS])}.")
    chosen = {name for word in words for name in GROUPS.get(word, (word,))}
    return [name for name in TITLES if name in chosen]
