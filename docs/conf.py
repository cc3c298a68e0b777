"""Settings of the book: `make docs` builds it into build/docs, with warnings as errors and nothing fetched."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx_gallery.sorting import FileNameSortKey

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import api_pages  # noqa: E402 - beside this file
import feint  # noqa: E402
import notebook  # noqa: E402 - beside this file
import offline_search  # noqa: E402 - beside this file
import paper_figures  # noqa: E402 - beside this file

project = "feint"
author = "The feint authors"
copyright = "The feint authors, MIT licence"
release = version = feint.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # MathJax from the package, not from a network host
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["logs", "gallery/*", "**/sg_execution_times.rst", "sg_execution_times.rst"]
nitpicky = True  # a link to what does not exist is an error
# except types in docstrings: some are private, others are of packages whose books would have to be fetched
nitpick_ignore_regex = [("py:.*", ".*")]
suppress_warnings = ["config.cache"]  # the gallery's sort key is a class

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autodoc_typehints = "none"  # the docstrings say types and shapes in words
autodoc_member_order = "bysource"
default_role = "code"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()  # tests/test_book.py checks what docstrings must have
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "built/gallery",
    "filename_pattern": "/draw_",
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "notebook_extensions": set(),
}

html_theme = "furo"
html_title = "feint"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which browsers refuse to a page without a server
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}


def trim_examples(app, tree):
    """Leave out the blank line with which a doctest ends."""
    for block in tree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.astext().rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def setup(app):
    """Write the pages of the reference, draw the paper's figures, and run the tutorial's notebook, before Sphinx reads
    anything; try the search of the book once it is written.
    """
    app.connect("builder-inited", lambda app: api_pages.write(HERE / "built" / "api"))
    app.connect("builder-inited", lambda app: paper_figures.write(HERE / "built" / "figures"))
    app.connect("builder-inited", lambda app: notebook.run())
    app.connect("doctree-read", trim_examples)
    app.connect("build-finished", lambda app, error: error or offline_search.check(Path(app.outdir)))
