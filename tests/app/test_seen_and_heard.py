"""The page for those who see it light or dark, wide or narrow, who hear it, and who have no mouse; and what they can
choose: goals, feedbacks, and logs that they need not bring.
"""

import numpy as np
import pytest

import feint
from cases import PAPER
from feint.agent.public_log import public_log
from feint.explorers import TopTwo

pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")
pytest.importorskip("websocket", reason="websocket-client is not installed")

from chromium import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="left out for want of a browser: Debian's package chromium")

WIDTHS = (390, 800, 1600)
# Of the first chart: how many of its opaque pixels are light, and how many dark.
TONES = """(() => {
  const canvas = deep('canvas').find(seen);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const tones = [0, 0];
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 250) continue;
    const [low, high] = [Math.min(data[i], data[i + 1], data[i + 2]), Math.max(data[i], data[i + 1], data[i + 2])];
    tones[0] += low > 200; tones[1] += high < 60;
  }
  return tones;
})()"""
FOCUS = """(() => { let node = document.activeElement;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node.ariaLabel || (node.innerText ?? '').trim(); })()"""


def luminance(colour):
    """Return the relative luminance of a CSS colour, rgb(r, g, b), as WCAG 2 defines it."""
    channels = np.array([float(part) for part in colour[4:-1].split(",")]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_the_settings_stay_in_sight(visit):
    """Where they stand beside the charts, they do not scroll away with them."""
    tab = visit(800)
    tab.resize(800, 700)
    tab.js("scrollTo(0, 900)")
    tab.until("scrollY > 500 && deep('.form').find(seen).getBoundingClientRect().top >= 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_at_every_width(visit, scheme):
    """Nothing sticks out, text can be read (7:1, WCAG's AAA), and charts are drawn in the colours of the scheme."""
    tab = visit()
    tab.prefer(scheme)
    for pulls, width in enumerate(WIDTHS, 5):
        tab.resize(width)
        tab.click("One pull")  # which draws the charts
        tab.until(f"+texts('.pull') == {pulls} && charts() == 4")
        assert tab.overflow() <= 0
        assert tab.js("['.intro svg', '.verbs', '.preset', '.epsilon'].every(part => deep(part).some(seen))")
    back, text = (luminance(tab.js(f"getComputedStyle(document.body).{name}")) for name in ("backgroundColor", "color"))
    assert (back < text) == (scheme == "dark")
    assert (max(back, text) + 0.05) / (min(back, text) + 0.05) >= 7
    light, dark = tab.until(f"(() => {{ const tones = {TONES}; return tones[0] + tones[1] > 50 && tones; }})()")
    # The labels of the axes: dark on light, where the grid is light too, or light on dark.
    assert (dark > 50) if scheme == "light" else (light > 50 > dark)


def test_every_control_has_a_name(visit):
    tab = visit()
    seen = set()
    for verb, button in (("Explore", "Play"), ("Plan", "Plan it"), ("Audit", "An honest agent")):
        tab.click(verb)
        tab.until(f"!!button({button!r})")
        tab.until("deep('.noUi-handle').filter(seen).every(node => node.ariaLabel)")
        tab.until("deep('input[type=checkbox]').filter(seen).every(node => node.ariaLabel)")
        named = [control for control in tab.controls() if control[0] != "generic"]
        assert [role for role, name in named if not name.strip()] == []
        seen |= set(named)
    assert {
        ("slider", "Arm 0, public"), ("slider", "ε: how far each pull may bend (0 is honest)"), ("combobox", "Speed"),
        ("combobox", "How sure the agent wants to be, 1 − δ"), ("checkbox", "Leave bad rows out"),
        ("button", "An honest agent"),
    } <= seen  # fmt: skip
    tab.until("button('Audit a log').ariaPressed == 'true' && button('Plan ahead').ariaPressed == 'false'")


def test_with_the_keyboard_alone(visit):
    """Tab leads to the verbs, the story, ε, and the buttons, in this order; keys work them."""
    tab = visit()
    tab.until("deep('.noUi-handle').filter(seen).every(node => node.ariaLabel)")
    tab.js("document.body.focus()")

    def go_to(name):
        for _ in range(40):
            tab.key("Tab", 9)
            if tab.js(FOCUS).startswith(name):
                return
        raise AssertionError(f"Tab does not lead to {name}")

    for name in ("Explore a run", "ε: how far"):
        go_to(name)
    tab.key("ArrowRight", 39)
    tab.until("texts('.cell').includes('ε = 0.3') && +texts('.pull') == 4 && deep('.old').length == 0")
    go_to("One pull")
    tab.key("Enter", 13)
    tab.until("+texts('.pull') == 5")
    go_to("Arm 3, private")


@pytest.mark.slow
def test_goals_and_feedbacks_are_chosen(visit):
    """The run is that of the goal or the feedback; a wrong argument gets a sentence."""
    tab = visit()
    tab.choose("goal", "which m arms are best")
    tab.until("/A deceives[^]*answers arms \\d, \\d,/.test(texts('.cell')) && deep('.old').length == 0")
    tab.type("goal-argument", "9")
    tab.until("texts('.line.wrong').includes('9')")
    tab.choose("goal", "which arm is best")
    tab.choose("feedback", "none: private means follow from public ones")
    tab.until("texts('.line') == '' && texts('.cell').includes('is best in private') && deep('.old').length == 0")
    tab.click("On to the alarm")
    tab.until("/deceives[^]*?alarm at pull/.test(texts('.cell'))")
    # Private means stay as the sliders say: an intercept per arm, and a slope of −1.
    link = feint.Linked(
        [public + private for public, private in zip(PAPER.public, PAPER.private, strict=True)], [-1] * 4
    )
    bandit = feint.Bandit(PAPER.public, feedback=link)
    runs = feint.simulate(bandit, TopTwo(), epsilon=0.1, horizon=1000, replications=1, observe=True)
    assert tab.js("+texts('.pull')") == int(runs.detection_time[0])


def test_logs_that_need_not_be_brought(visit):
    """A run is audited as its log would be; the samples are what they are called."""
    tab = visit()
    tab.click("On to the alarm")
    tab.until("/deceives[^]*?alarm at pull/.test(texts('.cell'))")
    pulls = tab.js("+texts('.pull')")
    tab.click("Audit this run")
    tab.until(f"texts('.line').includes('run.csv, {pulls} rows') && texts('.command')")
    log = public_log(PAPER, TopTwo(), epsilon=0.1, horizon=pulls)
    report = feint.audit(log["arm"], log["reward"], n_arms=4)
    assert str(report) in tab.js("texts('.line')")
    for sample, verdict in (
        ("An honest agent", "no evidence against"), ("An agent that deceives", "rejected at row"),
        ("A split that is not 50:50", "rejected at row"),
    ):  # fmt: skip
        tab.click(sample)
        tab.until(f"!texts('.line').includes('run.csv') && texts('.line').includes({verdict!r})")
        assert tab.overflow() <= 0
    for width in WIDTHS:  # the frame has the height of the audit in it, whatever its width
        tab.resize(width)
        tab.until(
            "(() => { const frame = deep('iframe')[0], content = frame.contentDocument.body; "
            "return Math.abs(frame.clientHeight - content.offsetHeight) <= 4; })()"
        )
