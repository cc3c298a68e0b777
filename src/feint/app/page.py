"""The page: what it is about, and three verbs, with settings beside the two that need them. Each visitor has one."""

from typing import Any

import panel as pn

from feint.app.access import name_controls
from feint.app.audit import Audit
from feint.app.explore import Explore
from feint.app.instance_form import InstanceForm
from feint.app.intro import INTRO
from feint.app.logs import ReadyLog
from feint.app.plan import PlanTab
from feint.app.style_sheet import SHEET

_EXPLORE, _PLAN, _AUDIT = "Explore a run", "Plan ahead", "Audit a log"


def new_page() -> Any:
    """Return the page of a visitor who has just come; it shares nothing with the page of another visitor."""
    pn.extension("filedropper", raw_css=[SHEET])
    if pn.state.curdoc is not None:
        name_controls(pn.state.curdoc)
    form, audit = InstanceForm(), Audit()
    verbs = pn.widgets.RadioButtonGroup(
        options=[_EXPLORE, _PLAN, _AUDIT], color="primary", variant="outline", margin=4, css_classes=["verbs"]
    )

    def show_run_of(epsilon: float, explorer: str, pulls: int) -> None:
        form.take(epsilon, explorer, pulls)
        verbs.value = _EXPLORE

    def audit_run(log: ReadyLog) -> None:
        verbs.value = _AUDIT
        audit.take(log)

    views = {
        _EXPLORE: Explore(form, audit_run).view, _PLAN: PlanTab(form, show_run_of).view, _AUDIT: audit.view,
    }  # fmt: skip
    body = pn.Column(*views.values(), sizing_mode="stretch_width", styles={"flex": "3 1 330px", "min-width": "0"})

    def show(event: Any = None) -> None:
        for name, view in views.items():
            view.visible = name == verbs.value
        form.view.visible = form.story.visible = verbs.value != _AUDIT

    verbs.param.watch(show, "value")
    show()
    return pn.Column(
        pn.pane.HTML(INTRO, sizing_mode="stretch_width", margin=4), verbs, form.story,
        pn.FlexBox(body, form.view, sizing_mode="stretch_width", gap="12px"),
        sizing_mode="stretch_width", max_width=1240, styles={"margin": "0 auto", "padding": "0 8px 24px"},
    )  # fmt: skip
