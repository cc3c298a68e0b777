"""How the pages that feint writes look: one palette in light and in dark, for `feint app`, report.html and audits.

Colours are variables of the root. Print is always light.
"""

_LIGHT = {
    "text": "#1b1b1b", "muted": "#5c6066", "line": "#d5d8dc", "back": "#f7f8f9", "card": "#ffffff", "soft": "#eef1f4",
    "public": "#0072b2", "private": "#b84e00", "good-back": "#e0f3ec", "good": "#00523c", "bad-back": "#fdeccc",
    "bad": "#5b3a00", "wrong-back": "#fbe3e1", "wrong": "#8c1d18", "grid": "#e8eaed", "yes": "#00664b", "no": "#b3261e",
    "open": "#8a5a00", "link": "#005a9c",
}  # fmt: skip
_DARK = {
    "text": "#e8e8e8", "muted": "#a9aeb5", "line": "#4a4f56", "back": "#16181b", "card": "#1f2226", "soft": "#2a2e33",
    "public": "#6bb8ea", "private": "#f2a05e", "good-back": "#0f3a2d", "good": "#a5e6cf", "bad-back": "#46330a",
    "bad": "#f6dda4", "wrong-back": "#4a1c1a", "wrong": "#ffc9c4", "grid": "#34383e", "yes": "#5fd3ae", "no": "#ff8a80",
    "open": "#f0c060", "link": "#7fc1f0",
}  # fmt: skip


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


PALETTE = f"""
:root {{ color-scheme: light dark; {_variables(_LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(_DARK)} }} }}
"""

# What all pages share. A shadow at an edge says that a table goes on there; a command breaks between its words.
SHARED = """
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--card) 30%, transparent) left / 40px 100% no-repeat
  local, linear-gradient(270deg, var(--card) 30%, transparent) right / 40px 100% no-repeat local,
  linear-gradient(90deg, var(--line), transparent) left / 10px 100% no-repeat scroll,
  linear-gradient(270deg, var(--line), transparent) right / 10px 100% no-repeat scroll, var(--card); }
.scroll table { background: none; }
pre { background: var(--soft); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
pre .word { display: inline-block; max-width: 100%; }
"""

# What a page that stands alone has in common with the others. Figures are drawn on white, which the filter makes the
# colour of the page; hues stay.
PAGE = f"""{PALETTE}{SHARED}
* {{ box-sizing: border-box; }}
body {{ background: var(--card); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }}
a {{ color: var(--link); }} .muted {{ color: var(--muted); }}
figure {{ margin: 1rem 0; }} figcaption {{ color: var(--muted); font-size: .9rem; padding-top: .4rem; }}
@media screen and (prefers-color-scheme: dark) {{
  figure img, figure svg {{ filter: invert(.9) hue-rotate(180deg) brightness(1.3); }} }}
table {{ border-collapse: collapse; width: 100%; font-size: .9rem; }}
th, td {{ padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }}
@media print {{ html {{ font-size: 12px; }}
  figure, tr, h2 {{ break-inside: avoid; }} h1, h2 {{ break-after: avoid; }} }}
"""
