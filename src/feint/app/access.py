"""What screen readers need but widgets lack: names of sliders and boxes, and which button of a group is pressed."""

from typing import Any

from bokeh.models import CustomJS

# Widgets live in shadow roots, which selectors do not enter, and come and go; so they are looked through every second.
_SCRIPT = """
const set = (node, name, value) => { if (node.getAttribute(name) != value) node.setAttribute(name, value); };
const visit = root => {
  const above = root.host?.previousElementSibling?.shadowRoot?.querySelector('.bk-clearfix');  // of a slider of choices
  for (const handle of root.querySelectorAll('.noUi-handle')) {
    const title = (root.querySelector('.bk-slider-title')?.textContent || above?.textContent || '').trim();
    const [name, value] = title.split(/: (?=[^:]*$)/);
    set(handle, 'aria-label', name);
    set(handle, 'aria-valuetext', value ?? '');
  }
  const words = [...root.children].filter(node => !['STYLE', 'LINK'].includes(node.tagName)).map(n => n.textContent);
  for (const box of root.querySelectorAll('input[type=checkbox]')) set(box, 'aria-label', words.join(' ').trim());
  for (const group of root.querySelectorAll('.bk-btn-group')) {
    const buttons = group.querySelectorAll('.bk-btn');
    if (buttons.length > 1) for (const node of buttons) set(node, 'aria-pressed', node.classList.contains('bk-active'));
  }
  for (const chart of root.querySelectorAll('.bk-events')) set(chart, 'tabindex', '-1');  // no key does anything there
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
