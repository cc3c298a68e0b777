"""The page: three verbs, with the settings beside the two that need them. Each visitor has one."""

from typing import Any

import panel as pn

from feint.app.audit import Audit
from feint.app.explore import Explore
from feint.app.instance import InstanceForm
from feint.app.plan import PlanTab
from feint.version import VERSION

_VERBS = ("Explore", "Plan", "Audit")
_STYLE = """
body { background: #fafafa; color: #1b1b1b; font: 15px/1.45 system-ui, sans-serif; }
"""
# What panes show lives in shadow roots, which the style of the page does not reach.
_INNER = """
:host { font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; }
h1 { font-size: 1.35rem; margin: .3rem 0; } h1 small { font-weight: normal; color: #666; font-size: .9rem; }
.line { border-radius: 8px; padding: .5rem .8rem; overflow-wrap: anywhere; background: #eef1f4; }
.line.good { background: #e0f3ec; color: #00523c; } .line.bad { background: #fdeccc; color: #5b3a00; }
.line.wrong { background: #fbe3e1; color: #8c1d18; }
.cells { display: flex; flex-wrap: wrap; gap: 8px; } .cell { flex: 1 1 200px; background: #fff;
  border: 1px solid #e3e3e3; border-radius: 8px; padding: .4rem .7rem; font-size: .88rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; background: #fff; }
th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid #e3e3e3; }
.scroll { overflow-x: auto; } p { margin: .4rem 0; overflow-wrap: anywhere; }
.legend { font-size: .85rem; } h2 { font-size: 1rem; margin: .8rem 0 .3rem; }
.facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .2rem 1rem;
  font-size: .88rem; margin: 0; }
.facts dt { color: #666; } .facts dd { margin: 0; }
@media (max-width: 600px) { .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: .3rem; } }
pre { background: #eef1f4; border-radius: 8px; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere;
  font-size: .85rem; margin: .4rem 0; }
"""


def new_page() -> Any:
    """Return the page of a visitor who has just come; it shares nothing with the page of another visitor."""
    pn.extension("filedropper", raw_css=[_STYLE])
    form = InstanceForm()
    explore = Explore(form)
    verbs = pn.widgets.RadioButtonGroup(options=list(_VERBS), color="primary", variant="outline", margin=4)

    def take(epsilon: float, explorer: str, pulls: int) -> None:
        form.take(epsilon, explorer, pulls)
        verbs.value = "Explore"

    views = {"Explore": explore.view, "Plan": PlanTab(form, take).view, "Audit": Audit().view}
    body = pn.Column(*views.values(), sizing_mode="stretch_width", styles={"flex": "3 1 330px", "min-width": "0"})

    def show(event: Any = None) -> None:
        for name, view in views.items():
            view.visible = name == verbs.value
        form.view.visible = verbs.value != "Audit"

    verbs.param.watch(show, "value")
    show()
    title = pn.pane.HTML(
        f"<h1>feint <small>{VERSION}: deceptive exploration, computed live on this machine</small></h1>"
    )
    page = pn.Column(
        title, verbs, pn.FlexBox(form.view, body, sizing_mode="stretch_width", gap="12px"),
        sizing_mode="stretch_width", max_width=1240, styles={"margin": "0 auto", "padding": "0 8px 24px"},
    )  # fmt: skip
    for pane in page.select(pn.pane.HTML):
        pane.param.update(stylesheets=[_INNER], margin=4)
    return page
