"""The report as Markdown."""

from collections.abc import Sequence

from sojourn.paper.reports import Report
from sojourn.show.tables import Table

from ..beyond.outcomes import Outcomes, TrialOutcome
from ..beyond.page import NOT_RUN, short
from .trials import EVERYONE, FORGETFUL, MOVING, PLAIN, STILL

PAGE = """# Arms that change

Tastes change, items wear out, and a policy that has learned what is best goes on showing it. Three
wrappers make any policy that counts ready for that, index policies and learned ones alike; what
learns in another way (Q-learning, the exact index) is refused.

| wrapper | forgets |
|---|---|
| `Restarting` | what a test found to have changed: nothing else, and nothing before |
| `Discounted` | gradually: a step counts half after `half_life` more |
| `Windowed` | whatever is older than the last `window` steps |

A problem that changes is a list of phases, and regret is against the best rule of each moment:

```python
>>> import sojourn as sj
>>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
>>> before, after = sj.Problem([0.6, 0.4], user), sj.Problem([0.4, 0.6], user)
>>> swap = sj.Problem.changing([(0, before), (500, after)])  # 500 visits, then others
>>> policies = [sj.policies.KLULCB(), sj.policies.Restarting(sj.policies.KLULCB())]
>>> plain, restarting = sj.simulate(swap, policies, visits=1_000, runs=100).regret.mean[:, -1]
>>> bool(restarting < plain)
True

```

`sj.Problem.drifting` makes small steps from one problem to another. Means and departures may
both change; a visit is of one phase throughout.

## Where something changes

Regret after 5,000 visits, users of setting B, three arms. **One change**: means .6, .5, .3 become
.4, .5, .7 after 2,500 visits. **Four changes**, every 1,000 visits: the best arm gets worse (.4,
.5, .3); the worst becomes the best (.4, .5, .7); all is as before (.6, .5, .3); the second becomes
the best (.6, .75, .3). In two of the four, the arm that is played stays as it is. **Gradual**: .7,
.5, .3 become .3, .5, .7 in 40 steps between visits 1,250 and 3,750.

{moving}

`Restarting` with nothing said of its policy is around KL-ULCB. A change that shows in the arm that
is played is found soon; one that does not is what the second problem has twice, and there it helps
to try arms again, by a share of exploration or by forgetting.

[Other packages](drift-peers.md) on the same problems: SW-UCB, D-UCB and GLR-klUCB of SMPyBandits.

## Where nothing changes

Regret after 20,000 visits of the paper's settings, and how many times that of Learned IMED as it
is:

{still}

Being ready has a price only if it is paid all the time. The detector decides as its policy does,
draw for draw, until it finds something; a ratio of 1 says that it never did. A false alarm costs
what it takes to learn all arms once more, and its chance in a whole run is at most `delta` = .01.
Who forgets all the time tries every arm again and again, for ever, in any state once it is
forgotten; half-life and window here are those of the problems above, which are short: setting A
alone has two million steps. So discounts and windows are for tastes that do change all the time,
and should be as long as those let them be. A share of exploration costs that share of the steps in
states where mistakes are cheap.

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed if
one is wholly on the other side, and otherwise not decidable at this precision.

{verdicts}

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command
with the same seed gives the same numbers. Intervals are 95 %.

## How a change is found

`sojourn.stats.changes` has the test, on sums by bucket of time: the generalised likelihood ratio
of two chances against one, at every edge between buckets (Besson, Kaufmann, Maillard and Seznec,
JMLR 23, 2022). Where nothing changes, it says otherwise with a chance of at most `delta`, in all
looks together; the threshold, log(4 k (k + 1) sqrt(N M) / delta) at the edge after bucket k with N
trials before and M since, is proved there. Theirs is of the same order for edges after every
trial.

`Restarting` keeps each sequence as sums of 32 to 64 equal buckets, at first of 8 trials, and
doubles their length when there are 64. So time and memory stay small (the test is made once in a
bucket), and a change is found later than it might be by a bucket at most: a 32nd of the trials so
far. The sequences are the rewards of each arm, and departures by bin of the state and level of the
reward, where the policy learns from them; `delta` is shared among all.

- **An arm has changed**: what is known of the means of all arms is forgotten. If tastes changed,
  the others may have too, and only what is played shows. With `local` that arm alone is forgotten,
  which is right if arms change one at a time.
- **Departures have changed**: what is known of them is forgotten, and conclusions are drawn as
  soon as at first. What is known of the arms stays.
- **What is not seen**: that an arm which is hardly played has become better. `explore` shows any
  arm in such a share of the steps, only where the policy itself tries arms: in its states of
  positive optimism, where mistakes are cheap. By default it is 0: where nothing changes, a share
  of 1 % costs what the table above says, for ever.
- **What is taken for a change**: departures are tested as if they depended on bin and level only.
  In a bin of a moving average, or where arms differ in whom they drive away, they also depend on
  what is shown. A false alarm there costs what is known of departures, not of arms. On ema-1000
  above there was none; where arms differ it was not measured. Nor was what it gains to notice
  departures that change: the problems above have changes of arms only.

## What to know

- None of the three has [leases](leases.md): every step is asked for, so that simulating them is
  much slower than simulating policies that have some.
- Learned policies conclude anew whenever their clock has grown by a tenth. A clock that forgets
  stands still in the long run. So the time of the next conclusion fades, or goes back, with the
  clock: they conclude as often as a tenth of what they remember is new.
- In [live experiments](live.md) they learn as Q-learning does, by replaying the log, and not from
  counters: a process that starts reads all events.
- There is no bound on their regret here; GLR-klUCB has one, without users who leave.

See also: [trust in production](trust.md); [which policy](policies.md) to take.
"""


def to_page(report: Report[Outcomes]) -> str:
    """The whole page."""
    found = report.findings
    return PAGE.format(
        **report.facts,
        verdicts=report.verdicts().markdown(),
        moving=_moving(found.of(MOVING, PLAIN.label)),
        still=_still(found.of(STILL, PLAIN.label)),
    )


def _moving(outcomes: Sequence[TrialOutcome]) -> str:
    """Regret at the end of every policy on every problem that changes."""
    rows = [[label, *(str(o.regret(label)) for o in outcomes)] for label in EVERYONE]
    heads = ["policy", *(o.trial.problem for o in outcomes)]
    return Table(heads, rows).markdown() if outcomes else NOT_RUN


def _still(outcomes: Sequence[TrialOutcome]) -> str:
    """Regret where nothing changes, and as a multiple of that of the policy within."""
    if not outcomes:
        return NOT_RUN
    rows = []
    for label in FORGETFUL:
        row = [label]
        for o in outcomes:
            times = "" if label == PLAIN.label else short(o.ratio(label, PLAIN.label))
            row += [str(o.regret(label)), times]
        rows.append(row)
    heads = [head for o in outcomes for head in (f"{o.trial.problem}: regret", "times")]
    return Table(["policy", *heads], rows).markdown()
