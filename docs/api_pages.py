"""Write the pages of the API reference: one for every public name, grouped by purpose."""

from importlib import import_module
from operator import attrgetter
from pathlib import Path

import feint

# What the paper defines, in its order, and where it does.
PAPER = {
    "Section 2: preliminaries": {
        "Gaussian": "Section 2.1",
        "ThompsonSampling": "Section 2.2, Equation 1",
        "best_arm_probabilities": "Sections 2.2 and 2.3, Equations 71 and 72",
        "optimal_allocation": "Section 2.3, Equation 2",
    },
    "Section 3: the problem": {"Bandit": "Problem", "ObservedUCB": "Remark"},
    "Section 4: the rate of pulls": {
        "boost_probability": "Lemma 1, Equation 3",
        "boost_limit": "Lemma 1, Equation 4",
        "boost": "Definition 1, Equation 5",
        "bernoulli_process": "Lemma 2",
        "bernoulli_limit": "Lemma 2, Equation 6",
        "pull_rate": "Theorem 1",
    },
    "Section 5: how to explore": {
        "error_exponent": "Equation 7",
        "gamma": "Equation 8",
        "log_error_limit": "before Equation 8",
        "optimal_boosting": "Equation 9",
        "Tracking": "before Algorithm 1",
        "TopTwo": "Algorithm 1, lines 3 to 6",
        "simulate": "Algorithm 1",
        "Agent": "Algorithm 1",
    },
    "Section 6: experiments": {"RoundRobin": "Figure 1", "predicted_pulls": "Figure 1, φ"},
    "Appendix C: implementation": {
        "TopTwoTransport": "Appendix C",
        "gauss_hermite_probabilities": "Appendix C.1, Equation 73",
        "boost_probability_approx": "Appendix C.2, Equation 76",
    },
}

# The packages of all other names, in the order of the page. A name whose package is missing here stops the build.
SECTIONS = {
    "Explore": {
        "feint.simulation.simulate": "Runs",
        "feint.agent.agent": "Live",
        "feint.sweep": "Sweeps",
        "feint.bandit": "Instances",
        "feint.families": "Rewards",
        "feint.feedback": "Feedback: what is seen of private rewards",
        "feint.explorers": "Explorers: which arm to boost",
        "feint.goals": "Goals: what to learn",
        "feint.references": "References: what the observer expects",
        "feint.budgets": "Budgets over time",
    },
    "Plan": {"feint.planning": "Plans", "feint.theory": "Theory"},
    "Draw": {"feint.plot": "Runs as pictures"},
    "Audit": {"feint.auditing": "Logs", "feint.agent.observer": "Live"},
    "Numerics": {"feint.numerics": "Best-arm probabilities and the KL boost"},
}

_HEAD = """# API reference

Every public name is an attribute of `feint`, and every example on these pages is run by the tests. Arms count from 0; K
is the number of arms. Names that the paper defines come first, in its order; [the paper](../../paper.md) has each with
its test. Names that go beyond the paper follow.
"""


def names_of(package: str) -> list[str]:
    """Return the public names of a package that the paper does not define, in the order in which `feint` lists them;
    those of a module that is itself public have its name in front.
    """
    short = package.removeprefix("feint.")
    if short in feint._MODULES:
        return [f"{short}.{name}" for name in import_module(package).__all__]
    of_the_paper = {name for names in PAPER.values() for name in names}
    return [name for name, home in feint._HOME.items() if home == package and name not in of_the_paper]


def write(folder: Path) -> None:
    """Write `index.md` and one page per name; files that are right already are not touched, so a rebuild is quick."""
    homeless = set(feint._HOME.values()) - {package for packages in SECTIONS.values() for package in packages}
    if homeless:
        raise ValueError(f"{', '.join(sorted(homeless))} has no section in docs/api_pages.py; give it one.")
    folder.mkdir(parents=True, exist_ok=True)
    index, pages = [_HEAD, "\n## The paper\n"], {}
    for title, places in PAPER.items():
        rows = [f"| [`{name}`]({name}.md) | {place} | {_summary(name)} |" for name, place in places.items()]
        index.append("\n".join([f"\n### {title}\n", "| | | |", "| --- | --- | --- |", *rows, ""]))
        pages |= {f"{name}.md": _page(name) for name in places}
    for section, packages in SECTIONS.items():
        index.append(f"\n## {section}\n")
        for package, title in packages.items():
            names = names_of(package)
            if not names:
                continue
            rows = [f"| [`{name}`]({name}.md) | {_summary(name)} |" for name in names]
            index.append("\n".join([f"\n### {title}\n", "| | |", "| --- | --- |", *rows, ""]))
            pages |= {f"{name}.md": _page(name) for name in names}
    listed = "\n".join(path.removesuffix(".md") for path in pages)
    index.append(f"\n```{{toctree}}\n:hidden:\n{listed}\n```\n")
    pages["index.md"] = "".join(index)
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _summary(name: str) -> str:
    text = (attrgetter(name)(feint).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def _page(name: str) -> str:
    kind = "autoclass" if isinstance(attrgetter(name)(feint), type) else "autofunction"
    members = "   :members:\n" if kind == "autoclass" else ""
    return f"# {name}\n\n```{{eval-rst}}\n.. {kind}:: feint.{name}\n{members}```\n"
