"""One self-contained HTML page: every figure, the claims table, the errata that matter, configuration and versions."""

import base64
import html
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from feint.experiments.claims import Claim
from feint.experiments.contract import load_experiment, settings_of
from feint.files import write_whole
from feint.version import VERSION

_LIBRARIES = ("numpy", "scipy", "numba", "xarray", "zarr", "matplotlib")

_ERRATA = (
    ("The exponent lost a factor", "With Γ as defined, log(1 − p*) ≈ −√(εT)·Γ(w), not −√(4εT)·Γ(w); w* is unaffected."),
    (
        "Gauss–Hermite with 32 nodes is not accurate enough",
        "On the paper's instance it misses reference probabilities by 13 to 64 %; see the figure “approximations”.",
    ),
    ("q-hat must be clipped at 1", "and it spends only 40 to 90 % of the budget for p from 0.1 to 1e-6."),
)

_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --muted: #666; --line: #ddd; --back: #fff; --card: #fff;
  --yes: #00664b; --no: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e8e8e8; --muted: #a0a0a0; --line: #3a3a3a; --back: #16181b;
  --card: #f6f6f6; --yes: #5fd3ae; --no: #ff8a80; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
figure { margin: 1rem 0; padding: .5rem; background: var(--card); border-radius: 8px; }
figure img { display: block; width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.yes { color: var(--yes); font-weight: 600; } .no { color: var(--no); font-weight: 600; }
small, .muted { color: var(--muted); }
pre { overflow-x: auto; font-size: .8rem; }
"""


def number(value: float) -> str:
    """Four digits, without an exponent where it can be read without."""
    return f"{value:.4g}"


def _claims_table(claims: list[Claim]) -> str:
    rows = []
    for claim in claims:
        interval = "" if claim.low == claim.high else f"<br><small>{number(claim.low)} … {number(claim.high)}</small>"
        verdict = '<span class="yes">holds</span>' if claim.holds else '<span class="no">fails</span>'
        cells = (
            f"{html.escape(claim.name)}<br><small>{html.escape(claim.stated)}</small>",
            html.escape(claim.quantity),
        )
        rows.append(
            f"<tr><td>{verdict}</td><td>{cells[0]}</td>"
            f'<td class="number">{number(claim.measured)}{interval}</td><td>{cells[1]}</td></tr>'
        )
    head = "<tr><th></th><th>claim</th><th>measured, 95 %</th><th>what was measured</th></tr>"
    return f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>'


def write_report(out: Path, claims: dict[str, list[Claim]], *, seed: int, quick: bool) -> None:
    """Write report.html into `out`, from the figures there."""
    everything = [claim for found in claims.values() for claim in found]
    held = sum(claim.holds for claim in everything)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<title>Deceptive exploration, reproduced</title>",
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Deceptive Exploration in Multi-armed Bandits, reproduced</h1>",
        f"<p>{held} of {len(everything)} claims hold. Each is a statistical test; the chance of calling a true claim ",
        "false is 0.1 % a claim.",
        " <strong>A quick run: short horizons, few seeds.</strong>" if quick else "",
        "</p>",
    ]
    settings: dict[str, Any] = {}
    for name, found in claims.items():
        experiment = load_experiment(name)
        settings[name] = settings_of(experiment, quick)
        picture = base64.b64encode((out / "figures" / f"{name}.png").read_bytes()).decode()
        parts += [
            f"<h2 id='{name}'>{html.escape(experiment.TITLE)}</h2>",
            f"<p class='muted'>{html.escape((experiment.__doc__ or '').splitlines()[0])}</p>",
            f"<figure><img alt='{html.escape(experiment.TITLE)}' src='data:image/png;base64,{picture}'></figure>",
            _claims_table(found),
        ]
    parts.append("<h2>Errata that matter</h2><ul>")
    parts += [f"<li><strong>{html.escape(a)}.</strong> {html.escape(b)}</li>" for a, b in _ERRATA]
    versions = {"feint": VERSION, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}
    configuration = {"seed": seed, "quick": quick, "settings": settings, "versions": versions}
    text = html.escape(json.dumps(configuration, indent=1, ensure_ascii=False, default=str))
    parts.append(f"</ul><h2>Configuration</h2><pre>{text}</pre></body></html>")
    page = "".join(parts)
    write_whole(out / "report.html", lambda name: name.write_text(page, encoding="utf-8"), force=True)
