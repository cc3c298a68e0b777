"""A local page to play with: explore, plan and audit, computed live (`feint app`, the extra feint[app]). Only the
command imports this folder.

The page is made with Panel on Bokeh, for three reasons. Each widget has its own callback, so that a run can unfold, be
paused and be accused without running the whole script again, as Streamlit would. State is kept per session, since the
page is built anew for every visitor. All scripts come from its own server, so that nothing is asked of another host.

    unfolding.py   an agent and its honest twin, pull by pull, each before its observer: no widgets
    presets.py  choices.py  claims.py  logs.py      what can be chosen: stories, goals and feedbacks, claims, logs
    instance_form.py  the settings: means of both sides, family, ε, explorer, seed
    explore.py  plan.py  audit.py      one verb each
    charts.py      what they draw
    messages.py    the line in which they say what happened
    intro.py  style_sheet.py  access.py  what a newcomer sees first, colours, and what a screen reader says
    page.py        the three verbs on one page
    serving.py     on loopback only
"""

from feint.app.serving import PORT, serve

__all__ = ["PORT", "serve"]
