"""What a newcomer sees first: two sentences, and a picture of what is hidden from whom."""

from feint.version import VERSION

_SENTENCES = (
    "An <b>agent</b> pulls one of several arms, again and again: everyone sees which arm and its "
    "<b class='public'>public reward</b>, and only the agent sees the arm's <b class='private'>private reward</b>.",
    "It says that it follows Thompson Sampling on the public rewards, but bends each pull by at most <b>ε</b> (a KL "
    "divergence, in nats) to learn which arm is best in private; an <b>observer</b>, who sees what everyone sees, "
    "tries to notice.",
)

# The observer looks down at the pull and the public reward; a screen hides the private reward.
_PICTURE = """
<svg viewBox='0 0 400 200' role='img' aria-label='The observer sees which arm the agent pulls and the public reward. A
screen hides the private reward, which only the agent sees.'>
<defs>
<marker id='end' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='4.5' markerHeight='4.5' orient='auto-start-reverse'>
<path d='M0 0 8 4 0 8z' fill='context-stroke'/></marker></defs>
<path class='sight' d='M200 30 108 130H292z'/>
<path class='eye' d='M178 20q22 -20 44 0q-22 20 -44 0z'/><circle class='pupil' cx='200' cy='20' r='6'/>
<text x='230' y='18'>the observer</text><text x='230' y='34' class='small'>sees this much</text>
<rect class='box' x='4' y='62' width='100' height='130' rx='10'/><text x='54' y='122' class='mid'>the agent</text>
<text x='54' y='140' class='mid small'>sees it all</text>
<rect class='box' x='296' y='62' width='100' height='130' rx='10'/><text x='346' y='182' class='mid'>the arms</text>
<g class='bars'><path d='M316 156v-60M336 156v-34M356 156v-12M376 156v-26'/></g>
<path class='arrow public' d='M107 82H292' marker-end='url(#end)'/>
<text x='199' y='76' class='mid public'>pulls an arm</text>
<path class='arrow public' d='M293 116H108' marker-end='url(#end)'/>
<text x='199' y='110' class='mid public'>public reward</text>
<path class='screen' d='M108 132H292'/>
<path class='arrow private' d='M293 164H108' marker-end='url(#end)'/>
<text x='199' y='157' class='mid private'>private reward</text>
<text x='199' y='182' class='mid small'>hidden behind the screen</text>
</svg>
"""

INTRO = (
    f"<div class='intro'><div class='words'><h1>feint <small>{VERSION}: an independent implementation of <i>Deceptive "
    f"Exploration in Multi-armed Bandits</i></small></h1>"
    f"{''.join(f'<p>{sentence}</p>' for sentence in _SENTENCES)}</div>"
    f"<div class='picture'>{_PICTURE}</div></div>"
)
