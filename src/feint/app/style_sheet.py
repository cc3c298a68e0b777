"""How the page looks, in light and in dark: one sheet, which Panel puts into the page and every part's shadow root.

Colours are variables of the root, which shadow roots inherit. Those that begin with --bk- are read by Bokeh when it
draws axes, and those with --design- by Panel's widgets. Lines and bars keep their colours, which can be read on both.
"""

from feint.support.page_style import PALETTE, SHARED

_OF_OTHERS = """
--design-background-color: var(--card); --design-background-text-color: var(--text);
--design-surface-color: var(--soft); --design-surface-text-color: var(--text);
--design-primary-color: #0072b2; --design-primary-text-color: #ffffff;
--bk-axis-line-color: var(--muted); --bk-major-tick-line-color: var(--muted); --bk-grid-line-color: var(--grid);
--bk-major-label-text-color: var(--text); --bk-axis-label-text-color: var(--text);
"""
_ARROW = (
    "data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'>"
    "<path d='M4 7h12l-6 7z' fill='%23888'/></svg>"
)


SHEET = f"""{PALETTE}{SHARED}
:root {{ {_OF_OTHERS} }}
body {{ background: var(--back); margin: 0; }}
body, :host {{ color: var(--text); font: 15px/1.45 system-ui, sans-serif; }}
:focus-visible, .noUi-handle:focus, .filepond--root:has(:focus-visible) {{ outline: 3px solid var(--public) !important;
  outline-offset: 2px; }}
:host(.old) {{ opacity: .35; filter: grayscale(1); }}
h1 {{ font-size: 1.35rem; margin: .3rem 0; line-height: 1.2; }}
h1 small {{ font-weight: normal; color: var(--muted); font-size: .9rem; }}
h2 {{ font-size: 1rem; margin: .8rem 0 .2rem; }} h3 {{ font-size: .9rem; font-weight: 600; margin: .5rem .6rem 0; }}
p {{ margin: .4rem 0; overflow-wrap: anywhere; }} .muted {{ color: var(--muted); }}
b.public {{ color: var(--public); }} b.private {{ color: var(--private); }}
.intro {{ display: flex; flex-wrap: wrap; gap: .4rem 2rem; align-items: center; }}
.intro .words {{ flex: 3 1 300px; font-size: 1.02rem; }} .intro .picture {{ flex: 2 1 320px; max-width: 430px; }}
:host .bk-btn {{ font-size: 14px; }}
:host .bk-btn-danger {{ background: #b3261e !important; border-color: #b3261e; }}
:host label, :host .bk-slider-title {{ font-size: 14px; }}
:host .bk-btn-group .bk-btn.bk-active {{ background: #0072b2 !important; color: #fff !important; border-color: #0072b2;
  box-shadow: none; }}
:host select.bk-input {{ background-image: url("{_ARROW}") !important;
  background-size: 14px !important; text-overflow: ellipsis; }}
:host .bk-input {{ border-color: var(--line); }} :host .bk-input::placeholder {{ color: var(--muted); }}
:host .noUi-target {{ background: var(--soft); border-color: var(--line); box-shadow: none; }}
:host .noUi-connect {{ background: var(--public) !important; }}
:host .noUi-handle {{ background: var(--card); border-color: var(--muted); }}
.filepond--panel-root, .filepond--root, .filepond--drop-label {{ background: var(--soft) !important;
  color: var(--text) !important; }}
.filepond--root {{ border: 2px dashed var(--line); border-radius: 8px; font-family: inherit !important; }}
svg {{ display: block; width: 100%; height: auto; }} svg text {{ fill: var(--text); font-size: 14px; }}
svg text.small {{ fill: var(--muted); font-size: 12px; }} svg .mid {{ text-anchor: middle; }}
svg text.public {{ fill: var(--public); }} svg text.private {{ fill: var(--private); }}
svg .box {{ fill: var(--card); stroke: var(--muted); }} svg .sight {{ fill: var(--public); opacity: .13; }}
svg .eye {{ fill: var(--card); stroke: var(--text); stroke-width: 2; }} svg .pupil {{ fill: var(--text); }}
svg .arrow {{ fill: none; stroke-width: 2.5; }} svg .arrow.public {{ stroke: var(--public); }}
svg .arrow.private {{ stroke: var(--private); }} svg .screen {{ stroke: var(--text); stroke-width: 5; }}
svg .bars {{ fill: none; stroke: var(--muted); stroke-width: 11; }}
.line {{ border-radius: 8px; padding: .5rem .8rem; overflow-wrap: anywhere; background: var(--soft); }}
.line.good {{ background: var(--good-back); color: var(--good); }}
.line.bad {{ background: var(--bad-back); color: var(--bad); }}
.line.wrong {{ background: var(--wrong-back); color: var(--wrong); }}
.cells {{ display: flex; flex-wrap: wrap; gap: 8px; }}
.cell {{ flex: 1 1 200px; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .4rem .7rem; font-size: .88rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .88rem; background: var(--card); }}
th, td {{ text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line); white-space: nowrap; }}
.scroll {{ margin-top: .6rem; }} .legend {{ font-size: .85rem; }}
.facts {{ display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .2rem 1rem; font-size: .88rem;
  margin: 0; }}
.facts dt {{ color: var(--muted); }} .facts dd {{ margin: 0; }}
@media (max-width: 600px) {{ th, td {{ padding: .25rem .35rem; font-size: .8rem; }}
  .facts {{ grid-template-columns: 1fr; }} .facts dd {{ margin-bottom: .3rem; }} }}
pre {{ padding: .6rem .8rem; margin: .4rem 0; }}
iframe {{ width: 100%; height: 900px; border: 1px solid var(--line); border-radius: 8px; }}
"""

# Two charts per row where there is room.
GRID = """
:host { display: grid !important; gap: 8px; grid-template-columns: repeat(auto-fit, minmax(min(330px, 100%), 1fr));
  align-items: stretch; }
.scroll-button { display: none; }
"""
CARD = """
:host { align-self: stretch !important; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
"""
