"""Texts of others, such as labels and names of files, as a terminal may show them."""

from unicodedata import category


def printable(text: str) -> str:
    r"""Return `text` with its control characters escaped, as Python writes them.

    An escape sequence in a label could otherwise hide or rewrite a verdict. Escaped are control and format characters
    (line ends and those that change the direction of writing among them), lone surrogates and what Unicode has not
    assigned; all that can be seen, and blanks of every width, stay.

    >>> print(printable("red\x1b[2K\rno evidence"))
    red\x1b[2K\rno evidence
    >>> printable("größer 赤") == "größer 赤"
    True
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or category(c) == "Zs" else repr(c)[1:-1] for c in text)
