"""The report, one self-contained HTML page: figure, claims and settings of each experiment, errata and versions."""

import base64
import html
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from feint.experiments import PAPER_FIGURES, TITLES
from feint.experiments.claim_rows import claims_table, with_subscripts
from feint.experiments.claims_page import ARMS_WORDS, level_words
from feint.experiments.contract import Size, caption_of, in_words, load_experiment, settings_of
from feint.experiments.findings import Finding, count_lines
from feint.support.files import write_whole
from feint.support.page_style import PAGE
from feint.version import VERSION

DPI = 200  # of the figures as PNG
_LIBRARIES = ("numpy", "scipy", "numba", "xarray", "zarr", "matplotlib")

_ERRATA = (
    ("The exponent lost a factor", "With Γ as defined, log(1 − p*) ≈ −√(εT)·Γ(w), not −√(4εT)·Γ(w); w* is unaffected."),
    (
        "Gauss–Hermite with 32 nodes is not accurate enough",
        "On the paper's instance it misses reference probabilities by 15 to 64 %; see the figure “approximations”.",
    ),
    ("q-hat must be clipped at 1", "Even then it spends only 40 to 90 % of the budget for p from 0.1 to 1e-6."),
)

_SIZES: dict[Size, str] = {
    "quick": "A quick run: short horizons, few seeds.",
    "usual": "A run of minutes: what it leaves undecided, feint reproduce --full decides within an hour.",
    "full": "A full run: as many seeds as a pilot on other seeds asked for.",
}
_STYLE = f"""{PAGE}
body {{ margin: 0; }}
main {{ padding: 1rem 1.2rem 4rem; min-width: 0; max-width: 66rem; }}
h1 {{ font-size: 1.5rem; line-height: 1.25; }} h2 {{ font-size: 1.2rem; margin-top: 2.2rem; }}
section, h2 {{ scroll-margin-top: 3.2rem; }}
.scroll {{ overflow-x: auto; }} figure img {{ display: block; height: auto; }}
sub {{ line-height: 0; }}
figcaption {{ max-width: 45rem; }}
th, td {{ text-align: left; }} .claims {{ table-layout: fixed; }}
.claims th:nth-child(1) {{ width: 6.4rem; }} .claims th:nth-child(2) {{ width: 38%; }}
.claims th:nth-child(4) {{ width: 5.6rem; }} .claims th:nth-child(5) {{ width: 11rem; }}
.verdict, .number small {{ white-space: nowrap; }} .number {{ font-variant-numeric: tabular-nums; }}
.verdict {{ font-weight: 600; }}
.shown {{ color: var(--yes); }} .refuted {{ color: var(--no); }} .undecided {{ color: var(--open); }}
small {{ color: var(--muted); font-size: .85em; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; font-size: .85rem; margin: .4rem 0; }}
dt {{ color: var(--muted); }} dd {{ margin: 0; overflow-wrap: anywhere; }}
summary {{ color: var(--muted); font-size: .9rem; cursor: pointer; }}
nav {{ position: sticky; top: 0; z-index: 1; display: flex; gap: 1.2rem; overflow-x: auto; white-space: nowrap;
  padding: .5rem 1.2rem; background: var(--card); border-bottom: 1px solid var(--line); font-size: .9rem; }}
nav b {{ display: none; }} nav ul {{ display: contents; }} nav li {{ list-style: none; }}
@media (min-width: 1100px) {{ body {{ display: grid; grid-template-columns: 17rem minmax(0, 1fr); }}
  nav {{ display: block; height: 100vh; overflow: auto; white-space: normal; padding: 1rem; border: 0;
  border-right: 1px solid var(--line); }} nav b {{ display: block; margin-top: .6rem; }}
  nav ul {{ display: block; margin: .2rem 0; padding: 0; }} nav li {{ margin: .3rem 0; line-height: 1.3; }}
  section, h2 {{ scroll-margin-top: 1rem; }} }}
@media screen and (max-width: 700px) {{ thead {{ display: none; }} tr {{ display: block; padding: .5rem 0;
  border-bottom: 1px solid var(--line); }} dl {{ grid-template-columns: 1fr; }}
  td {{ display: block; border: 0; padding: .1rem 0; overflow-wrap: anywhere; }}
  td[data-label]::before {{ content: attr(data-label) ": "; color: var(--muted); }} }}
@media print {{ body {{ display: block; }} nav, details {{ display: none; }} main {{ padding: 0; max-width: none; }}
  figure img {{ max-width: 100%; }} }}
"""


def _pairs(values: dict[str, Any]) -> str:
    told = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(in_words(v))}</dd>" for key, v in values.items())
    return f"<dl>{told}</dl>"


def _image(picture: bytes, words: str) -> str:
    """Return a figure in the size in which it was drawn, so that type has one size in all of them."""
    pixels = int.from_bytes(picture[16:20], "big")  # the width that a PNG states
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return f"<img alt='{words}' style='width:{pixels / DPI:.4g}in' src='{source}'>"


def _experiment_section(name: str, found: list[Finding], picture: bytes, size: Size) -> str:
    experiment = load_experiment(name)
    settings = settings_of(experiment, size)
    title, caption = with_subscripts(TITLES[name]), with_subscripts(caption_of(experiment, settings))
    image = _image(picture, html.escape(TITLES[name]))
    return (
        f"<section id='{name}'><h2>{title}</h2><figure><div class='scroll'>{image}</div>"
        f"<figcaption>{caption}</figcaption></figure>"
        f"{claims_table(found)}<details><summary>Settings</summary>{_pairs(settings)}</details></section>"
    )


def _contents(parts: dict[str, dict[str, str]]) -> str:
    """Return the table of contents, which stays in sight: beside the text, or above it where there is little room."""
    lists = ""
    for title, places in parts.items():
        links = "".join(f"<li><a href='#{place}'>{with_subscripts(text)}</a></li>" for place, text in places.items())
        lists += f"<b>{html.escape(title)}</b><ul>{links}</ul>" if links else ""
    return f"<nav aria-label='Contents'>{lists}</nav>"


def write_report(out: Path, claims: dict[str, list[Finding]], *, seed: int, size: Size) -> None:
    """Write report.html into `out` from the figures there; it has no date, so the same run gives the same bytes."""
    everything = [claim for found in claims.values() for claim in found]
    parted = {
        "The paper's figures": [name for name in claims if name in PAPER_FIGURES],
        "Beyond the paper's figures": [name for name in claims if name not in PAPER_FIGURES],
    }
    versions = {"feint": VERSION, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<title>Deceptive exploration, reproduced</title>",
        f"<style>{_STYLE}</style></head><body>",
        _contents(
            {title: {name: TITLES[name] for name in names} for title, names in parted.items()}
            | {"And": {"errata": "Errata that matter", "versions": "Versions"}}
        ),
        "<main>",
        "<h1>Deceptive Exploration in Multi-armed Bandits, reproduced</h1>",
        f"<p class='muted'>feint {VERSION}, seed {seed}.",
        f" <strong>{_SIZES[size]}</strong>",
        "</p><ul>",
        *(f"<li>{html.escape(line)}</li>" for line in count_lines(everything)),
        f"</ul><p>{html.escape(level_words(claims, seed))} {ARMS_WORDS}</p>",
    ]
    for title, names in parted.items():
        parts += [f"<h1>{html.escape(title)}</h1>"] if names else []
        for name in names:
            parts.append(_experiment_section(name, claims[name], (out / "figures" / f"{name}.png").read_bytes(), size))
    parts.append("<h2 id='errata'>Errata that matter</h2><ul>")
    parts += [f"<li><strong>{html.escape(a)}.</strong> {html.escape(b)}</li>" for a, b in _ERRATA]
    parts.append(f"</ul><h2 id='versions'>Versions</h2>{_pairs(versions)}</main></body></html>")
    page = "".join(parts)
    write_whole(out / "report.html", lambda name: name.write_text(page, encoding="utf-8"), force=True)
