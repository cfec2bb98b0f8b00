"""The words of the report around its numbers."""

HOW = (
    "A claim is confirmed if the whole 95 % interval is on the claimed side, not confirmed if it "
    "is all on the other side, and not decidable at this precision otherwise; a claim with several "
    "measurements is confirmed if all are. Policies of one experiment met the same users and are "
    "compared run by run. With this many intervals, a few in a hundred miss the truth. Where the "
    "paper leaves a choice open, the choice made the other way has a row of its own, and the last "
    "column gives its verdict and says if the claim hinges on it."
)

MARKDOWN = """# The paper, reproduced

Made by `{command}` (sojourn {version}, seed {seed}, precision "{precision}"). The same command
with the same seed gives the same numbers. Regret is summed from gaps; intervals are 95 %.
{summary}

## Claims

{how}

{verdicts}

## Figures

{figures}"""

PAGE = """# The paper, reproduced

What *Exploration, Exploitation, and Engagement in Multi-Armed Bandits with Abandonment* claims, and
what a simulation or an exact computation says about it. This page is written by

    {command} --page docs/reproduction.md

(sojourn {version}, seed {seed}, precision "{precision}"); the same command with the same seed gives
the same numbers. Regret is summed from gaps, intervals are 95 %, and every curve has 20,000 visits.
The problems are described in [model.md](model.md) and by `sojourn theory A`;
[beyond.md](beyond.md) goes on from here.

{summary}

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

## Figures

{figures}
## Runs

“Asked for” is the 95 % half-width of the regret at the end, or a number of runs.

{runs}
"""

TITLE = "The paper, reproduced"

HTML = """{% extends "page.html" %}
{% block main %}
<p>Made by <code>{{ command }}</code> (sojourn {{ version }}, seed {{ seed }}, precision
“{{ precision }}”). The same command with the same seed gives the same numbers. Regret is summed
from gaps; intervals are 95 %. {{ summary }}</p>
<h2>Claims</h2>
<p>{{ how }}</p>
{{ verdicts | safe }}
<h2>Figures</h2>
{% for name, figure, picture, values in figures %}
<section id="{{ name }}">
<h3>{{ name }}: {{ figure.title }}</h3>
<p>{{ figure.section }}. {{ figure.caption }}</p>
<div class="pair">
<figure><img alt="{{ figure.title }}" src="data:image/svg+xml;base64,{{ picture }}"></figure>
{{ values }}
</div>
</section>
{% endfor %}
{% endblock %}
"""
