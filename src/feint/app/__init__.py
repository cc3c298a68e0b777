"""A local page to play with: explore, plan and audit, computed live (`feint app`, the extra feint[app]). Only the
command imports this folder.

Made with Panel on Bokeh, for three reasons: a callback a widget, so that a run can unfold, be paused and be accused
without the whole script running again, as Streamlit would have it; state by session, since the page is built anew for
every visitor; and all of its scripts come from its own server, so that nothing is asked of another host.

    unfolding.py   an agent and its honest twin, pull by pull, each before its observer: no widgets
    instance.py    the settings: means of both sides, family, ε, explorer, seed
    explore.py  plan.py  audit.py      one verb each
    charts.py      what they draw
    page.py        the three verbs on one page
    serving.py     on loopback only
"""

from feint.app.serving import PORT, serve

__all__ = ["PORT", "serve"]
