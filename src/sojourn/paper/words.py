"""The words of the report around its numbers."""

from .measures.growth import DOUBLED
from .trial import VISITS
from .verdicts import Verdict

TITLE = "The paper, reproduced"
AUTHORS = "Zixian Yang, Xin Liu and Lei Ying"
PAPER = "Exploration, Exploitation, and Engagement in Multi-Armed Bandits with Abandonment"
VENUE = "Journal of Machine Learning Research 25(9):1-55, 2024"
SHORT = "Yang, Liu and Ying, JMLR 25(9):1-55, 2024"
ADDRESS = "https://jmlr.org/papers/v25/22-1251.html"

WHO = {
    "A": "leaves after two bad items in a row, and only then",
    "B": "may leave at any time, most likely after two bad items in a row",
    "C": "as in A, where even the best item is seldom liked",
    "D": "as in A, with a third arm",
    "ema-1000": "leaves by a moving average of how the visit went, c6 = 1000",
    "ema-100": "the same, c6 = 100: less patient",
    "ema-low": "as ema-1000, where even the best item is seldom liked",
    "opposite": "a bad item drives people away whatever went before: mistakes cost more after a "
    "success",
}
"""The users of the settings."""

STORY = (
    "The paper's claim: where users may leave, explore while they are content. Its policies ULCB "
    "and KL-ULCB are optimistic after a success and pessimistic after a failure; their regret "
    "grows like log K in the number of visits K, KL-ULCB's with the least possible constant, and "
    "they have significantly less of it than UCB, KL-UCB and Q-learning."
)

SAYS = (
    "“As we can see from Figure 1 (b), a well designed algorithm can significantly outperform the "
    "traditional MAB algorithms such as upper confidence bound (UCB) and Kullback-Leibler UCB "
    "(KL-UCB).”"
)
NOT_REDRAWN = (
    "The paper prints its curves without their numbers, so they are not drawn again here: this is "
    "our Figure 1 (b). "
)

HOW = (
    "A claim is confirmed if the whole 95 % interval is on the claimed side, and not confirmed if "
    "it is all on the other side. Theorems are about K without end: a slope that is on the other "
    f"side of the bound's at K = {VISITS:,} is “{Verdict.NOT_YET.value}”, and not confirmed only "
    f"if it was also multiplied by {DOUBLED:g} or more since the decade of visits before (for "
    "lower bounds: divided), which is not like log K. A claim is not decidable at this precision "
    "if the threshold is within the interval, or if it is about half-widths that a quick run does "
    "not ask for. A claim with several measurements is confirmed if all are. Policies of one "
    "experiment met the same users and are compared run by run. With this many intervals, a few in "
    "a hundred miss the truth. Where the paper leaves a choice open, the choice made the other way "
    "is a claim of its own."
)

OTHERWISE = "Where a choice was made or words were read otherwise:"

NOT_YET = (
    "Theorems and bounds are about K without end. These slopes are beyond the bound's over the "
    "last decade of visits, where terms of lower order still count, and none is known to have "
    "doubled since the decade before, as where regret grows like a power of K (0.3 or more)."
)

MARKDOWN = """# The paper, reproduced

{authors}: [*{paper}*]({address}). {venue}.

{story}

{summary} Made by `{command}` (sojourn {version}, seed {seed}, precision "{precision}"); the same
command with the same seed gives the same numbers. Regret is summed from gaps; intervals are 95 %.

![{summary}](figures/verdicts.svg)

## Not confirmed

{disagreements}

## Settings

{settings}

## Figures

{figures}
## Claims

{how}

{verdicts}
"""

PAGE = """# The paper, reproduced

{authors}: [*{paper}*]({address}). {venue}.

{story}

**Here:** {summary}

![{summary}](figures/verdicts.svg)

{first}This page is written by

    {command} --page docs/reproduction.md

(sojourn {version}, seed {seed}, precision "{precision}"); the same command with the same seed gives
the same numbers. Regret is summed from gaps, intervals are 95 %, and every curve has 20,000 visits.
[beyond.md](beyond.md) goes on from here.

## Not confirmed

What was measured is on the other side of what the paper says, or of how its words are read here
([below](#how-claims-were-read)):

{disagreements}

## Not yet

{not_yet}

{asymptotic}

## Settings

{settings}

More on them: [model.md](model.md), and `sojourn theory A`.

## Figures

{figures}
## How claims were read

Some words of the paper can be read in several ways. The readings below are ours, not the paper's:
round numbers, the same for every setting. Another reading could give another verdict. K = 200 and
K = 2,000 stand for the nearest points at which totals were kept, 216 and 2,079.

{readings}

## Verdicts that hinge on a choice

Where the paper leaves a choice open (how ties are broken, c = 0 or c = 4, details of Q-learning,
values of coefficients) or says a thing in two ways, both were checked: the last column of the table
below has it. These are the claims that were decided one way and, with the other choice, the other:

{hinges}

## Claims

{how}

{verdicts}

## Runs

“Asked for” is the 95 % half-width of the regret at the end, or a number of runs.

{runs}
"""

HTML = """{% extends "page.html" %}
{% macro words(found) %}
<strong>{{ found.claim.text }}</strong> <small>{{ found.claim.section }}.</small>
{% for so in found.contrary %}{{ so }}{{ "." if loop.last else "; " }}{% endfor %}
{% endmacro %}
{% block style %}
a { color: var(--blue); }
.story { font-size: 1.05rem; }
.halves figure { max-width: 27rem; }
.compact { font-size: .9rem; } .compact ul { padding-left: 1.1rem; } .compact p { margin: .3rem 0; }
nav a { margin-right: .9rem; white-space: nowrap; }
.halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
  gap: .5rem 2rem; }
.halves > * { min-width: 0; }
blockquote { margin: .3rem 0; padding-left: .8rem; border-left: .2rem solid var(--faint); }
summary { cursor: pointer; padding: .15rem 0; }
details.claim { margin-left: 1rem; border-bottom: 1px solid var(--faint); }
details.claim > ul { margin: .2rem 0 .6rem; }
.not_yet { color: var(--blue); font-weight: 600; }
.badge { font-size: .8rem; white-space: nowrap; }
li { margin: .25rem 0; }
h2, section { scroll-margin-top: .5rem; }
@media (prefers-color-scheme: dark) { @media screen {
  figure img { filter: invert(.93) hue-rotate(180deg); } } }
{% endblock %}
{% block main %}
<p>{{ authors }}: <a href="{{ address }}"><cite>{{ paper }}</cite></a>. {{ venue }}.</p>
<p class="story">{{ story }}</p>
<p class="verdict">Here: {{ figures | length }} figures drawn; {{ summary }}</p>
<nav aria-label="Contents">
{% for name, title in contents.items() %}
<a href="#{{ name }}">{{ title }}</a>
{% endfor %}
</nav>
<div class="halves">
{% if first %}
<div id="first"><h2>The paper's first figure</h2>
<blockquote>{{ says }}</blockquote>
<figure><img alt="{{ first.figure.title }}" src="{{ first.picture }}">
<figcaption>{{ not_redrawn }}{{ first.figure.caption }}</figcaption></figure></div>
{% endif %}
<div><h2 id="verdicts">The verdicts</h2>
<figure>{{ bars | safe }}<figcaption>Confirmed, of all claims of a kind. <a href="#claims">Every
claim</a> is below.</figcaption></figure>
<h2 id="disagreements">Not confirmed</h2>
<div class="compact">
{% if own %}
<p>On the other side of what the paper says, or of how its words are read here:</p>
<ul>
{% for found in own %}
<li>{{ words(found) }}</li>
{% endfor %}
</ul>
{% else %}
<p>None of what the paper says.</p>
{% endif %}
{% if variants %}
<details><summary>{{ variants | length }} more, where a choice was made or words were read otherwise
</summary><ul>
{% for found in variants %}
<li>{{ words(found) }}</li>
{% endfor %}
</ul></details>
{% endif %}
</div></div>
</div>
{% if asymptotic %}
<h2 id="not-yet">Not yet</h2>
<p>{{ not_yet }}</p>
<details><summary>{{ asymptotic | length }} statements about K without end</summary><ul>
{% for found in asymptotic %}
<li>{{ words(found) }}</li>
{% endfor %}
</ul></details>
{% endif %}
<h2 id="settings">The settings</h2>
{{ settings }}
<h2 id="figures">Figures</h2>
<details><summary>All {{ figures | length }} by name</summary><p>
{% for shown in figures %}
<a href="#{{ shown.name }}">{{ shown.name }}</a>: {{ shown.figure.title }}<br>
{% endfor %}
</p></details>
<div class="halves">
{% for shown in figures %}
<section id="{{ shown.name }}">
<h3>{{ shown.name }}: {{ shown.figure.title }}</h3>
<figure><img alt="{{ shown.figure.title }}" src="{{ shown.picture }}">
<figcaption>{{ shown.figure.section }}. {{ shown.figure.caption }}</figcaption></figure>
<details><summary>Numbers</summary>{{ shown.values }}</details>
</section>
{% endfor %}
</div>
<h2 id="claims">Claims</h2>
<p>{{ how }}</p>
{% for kind, found, counts in kinds %}
<details><summary><strong>{{ kind }}</strong>: {{ counts }}</summary>
{% for one in found %}
<details class="claim" id="claim-{{ one.claim.name }}"><summary>{{ one.claim.text }} <span
class="badge {{ one.verdict.name | lower }}">{{ one.verdict.value }}</span></summary>
<ul><li>{{ one.claim.section }}.{% if one.claim.note %} {{ one.claim.note }}{% endif %}</li>
{% for measured in one.measured %}
<li>{{ measured }}: <span class="{{ measured.verdict.name | lower }}">{{ measured.verdict.value
}}</span></li>
{% endfor %}
{% for choice in choices(one) %}
<li>{{ choice }}</li>
{% endfor %}
</ul></details>
{% endfor %}
</details>
{% endfor %}
{% endblock %}
{% block footer %}
Made by <code>{{ command }}</code> (sojourn {{ version }}, seed {{ seed }}, precision
“{{ precision }}”). The same command with the same seed gives the same numbers. Regret is summed
from gaps; intervals are 95 %.
{% endblock %}
"""

CONTENTS = {
    "first": "First figure",
    "verdicts": "Verdicts",
    "disagreements": "Not confirmed",
    "not-yet": "Not yet",
    "settings": "Settings",
    "figures": "Figures",
    "claims": "Claims",
}
"""Of the HTML report: its places and what they are called."""
