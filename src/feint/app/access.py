"""What screen readers hear of widgets that do not say it themselves: names of sliders, ticked boxes and charts, and
which button of a group is pressed.
"""

from typing import Any

from bokeh.models import CustomJS

# Widgets live in shadow roots, which selectors do not enter, and come and go; so they are looked through every second.
_SCRIPT = """
const set = (node, name, value) => { if (node.getAttribute(name) != value) node.setAttribute(name, value); };
const visit = root => {
  const text = selector => (root.querySelector(selector)?.textContent ?? '').trim();
  for (const handle of root.querySelectorAll('.noUi-handle')) {
    const [name, value] = text('.bk-slider-title').split(/: (?=[^:]*$)/);
    set(handle, 'aria-label', name);
    set(handle, 'aria-valuetext', value ?? '');
  }
  for (const box of root.querySelectorAll('input[type=checkbox]')) set(box, 'aria-label', root.textContent.trim());
  for (const node of root.querySelectorAll('.bk-btn-group .bk-btn')) {
    set(node, 'aria-pressed', node.classList.contains('bk-active'));
  }
  for (const node of root.querySelectorAll('*')) if (node.shadowRoot) visit(node.shadowRoot);
};
if (!window.labelled) {
  window.labelled = setInterval(() => visit(document), 1000);
  visit(document);
}
"""


def name_controls(document: Any) -> None:
    """Let the page name its controls as soon as it is ready."""
    document.js_on_event("document_ready", CustomJS(code=_SCRIPT))
