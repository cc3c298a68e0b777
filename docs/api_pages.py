"""Write the pages of the API reference: one for every public name, grouped by purpose."""

from pathlib import Path

import feint

# Packages in the order of the page. A name whose package is missing here stops the build.
SECTIONS = {
    "Explore": {
        "feint.simulation.simulate": "Runs",
        "feint.agent.agent": "Live",
        "feint.sweep": "Sweeps",
        "feint.bandit": "Instances",
        "feint.families": "Rewards",
        "feint.explorers": "Explorers: which arm to boost",
        "feint.references": "References: what the observer expects",
        "feint.budgets": "Budgets over time",
    },
    "Plan": {"feint.planning": "Plans", "feint.theory": "Theory"},
    "Audit": {"feint.auditing": "Logs", "feint.agent.observer": "Live"},
    "Numerics": {"feint.numerics": "Best-arm probabilities and the KL boost"},
}

_HEAD = """# API reference

Every public name is an attribute of `feint`, and every example on these pages is run by the tests. Arms count from 0; K
is the number of arms.
"""


def names_of(package: str) -> list[str]:
    """Return the public names of a package, in the order in which `feint` lists them."""
    return [name for name, home in feint._HOME.items() if home == package]


def write(folder: Path) -> None:
    """Write `index.md` and one page per name; files that are right already are not touched, so a rebuild is quick."""
    homeless = set(feint._HOME.values()) - {package for packages in SECTIONS.values() for package in packages}
    if homeless:
        raise ValueError(f"{', '.join(sorted(homeless))} has no section in docs/api_pages.py; give it one.")
    folder.mkdir(parents=True, exist_ok=True)
    index, pages = [_HEAD], {}
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
    text = (getattr(feint, name).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def _page(name: str) -> str:
    kind = "autoclass" if isinstance(getattr(feint, name), type) else "autofunction"
    members = "\n:members:" if kind == "autoclass" else ""
    return f"# {name}\n\n```{{eval-rst}}\n.. currentmodule:: feint\n\n.. {kind}:: {name}{members}\n```\n".replace(
        "\n:members:", "\n   :members:"
    )
