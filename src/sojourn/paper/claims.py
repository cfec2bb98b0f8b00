"""The sentences of the paper that a simulation or an exact computation can check.

The sentences are in `claims.toml`; here is how each is measured. The reading of words, marks and
thresholds is the same for all claims. It is our reading, not the paper's, and `templates/page.md`
explains it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

from ..show.plain import from_toml
from .figures import FIGURES
from .measures import exact, growth, regret
from .results import LOWER, Results, Taken
from .trials import VISITS as VISITS
from .verdicts import Claim

PAPER_RUNS = 1e7
TENFOLD = 10.0
SETTLED = 0.05
NEARLY = 0.05
AGREE = 1e-3
ROUNDING = 1e-9
EARLY, MIDDLE = VISITS // 100, VISITS // 10
DECADES = (EARLY, MIDDLE, VISITS)
"""Two decades of visits that end with the last one."""

OURS = ("ULCB", "KL-ULCB")
RIVALS = {"ULCB": "UCB", "KL-ULCB": "KL-UCB"}
RIGHT, WRONG = (tuple(f"{label}, {signs} signs" for label in OURS) for signs in ("right", "wrong"))
Q_LEARNING = {"q-greedy": "Q-learning, ε-greedy", "q-ucb": "Q-learning, UCB"}
MAIN = ("A", "B")
COMPARISONS = {"A": "a", "B": "c", "C": "low", "D": "three"}
BOUNDS = {"A": "b", "B": "d", "C": "low-bounds", "D": "three-bounds"}
"""By setting, the figure that compares policies, and the one with their bounds."""
EMA = ("ema-1000", "ema-100", "ema-low")
WIDTHS = {"A": 8.73, "B": 0.63, "ema-1000": 4.43, "ema-100": 3.11, "ema-low": 0.12}
"""The half-widths that the paper states."""

_TEXTS = from_toml(__package__, "claims.toml")
_NUMBERS = {
    "visits": VISITS, "middle": MIDDLE, "early": EARLY, "tenfold": TENFOLD,
    "settled": 100 * SETTLED, "nearly": 100 * NEARLY,
}  # fmt: skip
_PHRASES = {name: text.format(**_NUMBERS) for name, text in _TEXTS.pop("phrases").items()}

Claims = Iterator[Claim[Results]]


def _claim(key: str, *measures: Taken, **words: Any) -> Claim[Results]:
    """The claim that `claims.toml` has under this key, with these words filled in."""
    words |= _NUMBERS | _PHRASES
    texts = {field: text.format(**words) for field, text in _TEXTS[key].items()}
    return Claim(**{"name": key, "measures": measures, **texts})


def _about(
    setting: str, figures: Mapping[str, str], label: str, id: str | None = None
) -> dict[str, str]:
    """Words about a policy in the figure of a setting."""
    place = FIGURES[figures[setting]].section
    return {"setting": setting, "place": place, "label": label, "id": id or label.lower()}


def _with_both_c(key: str, measure: Callable[[str], Taken], **words: Any) -> Claims:
    """A claim about trials with c = 4, as it is proved, and its variant with c = 0."""
    yield _claim(key, *(measure(f"{setting}-theorems") for setting in MAIN), **words)
    yield _claim(f"{key}-c0", *map(measure, MAIN), **words)


def _below(trials: Iterable[str], labels: Iterable[str], **how: Any) -> list[Taken]:
    return [
        growth.slope_below(trial, label, DECADES, **how) for trial, label in product(trials, labels)
    ]


def _main_part() -> Claims:
    """What is proved for two states: Sections 2 and 3."""
    every, proved = (*COMPARISONS, "opposite"), [f"{setting}-theorems" for setting in MAIN]
    yield _claim("lemma-1", *map(exact.mistakes_cost, every))
    yield _claim("lemma-1-values", *map(exact.values_rise, every))
    gaps = (exact.example_gaps(setting, ROUNDING) for setting in "ACD")
    yield _claim("example-gaps", *gaps, exact.gap_order("A"))
    yield _claim("lemma-2", exact.lemma_2((0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0), means=(0.2, 0.9)))
    for number, label in enumerate(OURS, 1):
        below = partial(growth.slope_below, label=label, marks=DECADES)
        yield from _with_both_c("theorems-1-2", below, number=number, label=label)
    both = [label for pair in RIVALS.items() for label in reversed(pair)]
    yield _claim("theorem-3", *_below(MAIN, both, bound=LOWER, above=True))
    for name, one, other in (
        ("bound-ulcb", "ULCB", "UCB"),
        ("bound-pinsker", "KL-ULCB", "ULCB"),
        ("bound-kl-ulcb", "KL-ULCB", "KL-UCB"),
        ("sharp-bounds", "KL-ULCB", LOWER),
    ):
        yield _claim(name, *(exact.bound_ratio(setting, one, other) for setting in COMPARISONS))
    yield from _with_both_c("sharp", partial(growth.slope_nears, label="KL-ULCB", marks=DECADES))
    yield _claim("decomposition", *(regret.agrees(setting, "ULCB", AGREE) for setting in MAIN))
    yield _claim("ucb-bounds", *_below(MAIN, RIVALS.values()))
    yield _claim("lemma-3", *(growth.linear_pulls(trial, "ULCB", MIDDLE) for trial in proved))
    yield _claim("lemma-4", *(growth.within_lemma_4(trial, "ULCB") for trial in proved))
    settle = partial(growth.settles, label="ULCB", since=MIDDLE, share=SETTLED)
    yield from _with_both_c("lemma-4-settles", settle)
    yield from _with_both_c(
        "lemma-5", partial(growth.slope_below, label="ULCB", marks=DECADES, level=1)
    )


def _two_state() -> Claims:
    """The simulations with two states: Section 5, and the further settings of Appendix E."""
    yield _claim("intro", *(regret.less("A", one, other) for one, other in RIVALS.items()))
    q_trials = [f"{setting}-rl" for setting in MAIN]
    yield _claim("q-not-optimal", *_below(q_trials, Q_LEARNING.values(), bound=LOWER, above=True))
    for setting, (label, other) in product(COMPARISONS, RIVALS.items()):
        about = _about(setting, COMPARISONS, label)
        yield _claim("outperforms", regret.less(setting, label, other), **about, other=other)
    for setting, (id, label) in product(COMPARISONS, Q_LEARNING.items()):
        about = _about(setting, COMPARISONS, label, id)
        yield _claim(f"order-wise-{id}", *_times(setting, f"{setting}-rl", label), **about)
    for setting, (id, label) in product(COMPARISONS, Q_LEARNING.items()):
        about = _about(setting, COMPARISONS, label, id)
        yield _claim("ratio-grows", *_times(setting, f"{setting}-rl", label, 1.0), **about)
    for setting, label in product(BOUNDS, OURS):
        about = _about(setting, BOUNDS, label)
        yield _claim(f"towards-{label.lower()}", growth.towards(setting, label, MIDDLE), **about)
    for setting, label in product(BOUNDS, OURS):
        about = _about(setting, BOUNDS, label)
        yield _claim("slope", growth.slope_nears(setting, label, DECADES), **about)
    for setting in MAIN:
        yield from _widths(setting, FIGURES[COMPARISONS[setting]].section, OURS)
    for setting in MAIN:
        about, width = _about(setting, COMPARISONS, ""), WIDTHS[setting]
        measure = regret.raw_width(f"{setting}-rl", tuple(Q_LEARNING.values()), PAPER_RUNS, width)
        yield _claim("width-q", measure, **about, width=width)
    yield _claim("longest", *map(exact.longest_visits, COMPARISONS))


def _times(setting: str, trial: str, label: str, factor: float = TENFOLD) -> list[Taken]:
    return [regret.times(setting, trial, one, label, factor, MIDDLE) for one in OURS]


def _widths(setting: str, place: str, labels: tuple[str, ...]) -> Claims:
    """A stated half-width: exactly, as measured, and as it is here."""
    width, shown = WIDTHS[setting], COMPARISONS.get(setting, setting)
    about = {"setting": setting, "place": place, "width": width, "shown": shown}
    yield _claim("width", regret.optimal_width(setting, VISITS, PAPER_RUNS, width), **about)
    yield _claim("width-measured", regret.raw_width(setting, labels, PAPER_RUNS, width), **about)
    yield _claim("width-here", regret.own_width(setting, width), **about)


def _open_choices() -> Claims:
    """Open choices of the paper, made the other way: ties, c, details of Q-learning."""
    for key, trials in (("outperforms-ties", "ties"), ("outperforms-c4", "theorems")):
        for setting, (label, other) in product(MAIN, RIVALS.items()):
            about = _about(setting, COMPARISONS, label)
            yield _claim(
                key, regret.less(f"{setting}-{trials}", label, other), **about, other=other
            )
    for setting, label in product(MAIN, OURS):
        about, trial = _about(setting, BOUNDS, label), f"{setting}-theorems"
        yield _claim("towards-c4", growth.towards(trial, label, MIDDLE), **about)
        yield _claim("slope-c4", growth.slope_nears(trial, label, DECADES), **about)
    for key, label in (
        ("B-q-ucb-p", "Q by state, p = 0.5"),
        ("B-q-ucb-by-step", "Q by step and state"),
        ("B-q-ucb-bonus", "Q by state, c = 0.01"),
    ):
        yield _claim(key, *_times("B", "B-q", label), **_about("B", COMPARISONS, label))


def _general() -> Claims:
    """The general state: Section 4 and Appendix D."""
    disc = ("DISC-ULCB", "DISC-KL-ULCB")
    every = ("UCB", "DISC-ULCB", "CONT-ULCB", "KL-UCB", "DISC-KL-ULCB", "CONT-KL-ULCB")
    yield _claim("lemma-6", *map(exact.mistakes_cost, EMA))
    yield _claim("lemma-6-values", *map(exact.values_rise, EMA))
    yield _claim("theorem-4", *_below(EMA, disc))
    yield _claim("general-lower", *_below(EMA, every, bound=LOWER, above=True))
    tight = (
        exact.bound_ratio(setting, "DISC-KL-ULCB", LOWER, 1.0 + NEARLY, n=64) for setting in EMA
    )
    yield _claim("nearly-tight", *tight)
    yield _claim("large-n", *(regret.less("bins", "n = 4", "n = 64", k) for k in (EARLY, MIDDLE)))
    for n, trial, label in ((4, "ema-100", "DISC-ULCB"), (64, "bins", "n = 64")):
        more = regret.more_wrong_pulls("ema-100", trial, "CONT-ULCB", label, EARLY)
        yield _claim("cont-explores", more, n=n)
    for setting, kl in product(EMA, ("", "KL-")):
        yield from _general_state(
            setting, f"{kl}UCB", f"DISC-{kl}ULCB", f"CONT-{kl}ULCB", kl.lower()
        )
    for setting in EMA:
        place = FIGURES[setting].section.replace(", ", ", Remark, ", 1)
        yield from _widths(setting, place, ("DISC-ULCB", "CONT-ULCB"))
    yield _claim("leave-curves", exact.gap_falls((5.0, 50.0, 1000.0), mean=0.9, theta=0.5))
    many = (5.0, 6.0, 8.0, 10.0, 20.0, 100.0, 1e4, 1e6)
    yield _claim("conjecture", exact.gap_falls(many, mean=0.9, theta=0.5))
    yield _claim("conjecture-theta", exact.gap_falls((5.0, 50.0, 1000.0), mean=0.9, theta=0.3))


def _general_state(setting: str, ucb: str, disc: str, cont: str, kl: str) -> Claims:
    about = {"setting": setting, "kl": kl, "ucb": ucb, "disc": disc, "cont": cont}
    about["place"] = FIGURES[setting].section
    better = (regret.less(setting, disc, ucb), regret.less(setting, cont, ucb))
    yield _claim("general-outperform", *better, **about)
    yield _claim("general-cont", regret.less(setting, cont, disc), **about)
    yield _claim("general-slope", growth.slope_nears(setting, disc, DECADES), **about)
    about["place"] = FIGURES[f"{setting}-bounds"].section
    yield _claim("general-towards", growth.towards(setting, disc, MIDDLE), **about)


def _coefficients() -> Claims:
    """The coefficients of ULCB: Appendix E."""
    c1 = [f"c1 = {c1:g}" for c1 in (1.0, 0.75, 0.5, 0.25)]
    c0 = [f"c0 = {c0:g}" for c0 in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    yield _claim("sweep-c1", *regret.rising("sweep-c1", *c1))
    yield _claim("sweep-c1-ends", *regret.rising("sweep-c1", c1[0], c1[-1]))
    yield _claim("sweep-c1-beyond", *regret.rising("sweep-c1", "c1 = 1.5", "c1 = 1"))
    yield _claim("sweep-c0", *regret.rising("sweep-c0", *c0))
    yield _claim("sweep-c0-ends", *regret.rising("sweep-c0", c0[0], c0[-1]))


def _opposite() -> Claims:
    """The opposite case: Appendix F."""
    yield _claim("opposite-gaps", exact.gap_order("opposite", opposite=True))
    fewer = (
        regret.less("opposite", right, other)
        for right, wrong, ucb in zip(RIGHT, WRONG, RIVALS.values(), strict=True)
        for other in (wrong, ucb)
    )
    yield _claim("opposite-signs", *fewer)
    for number, label in enumerate(RIGHT, 5):
        yield _claim(f"theorem-{number}", growth.slope_below("opposite", label, DECADES))
    every = (*RIVALS.values(), *RIGHT, *WRONG)
    yield _claim("theorem-7", *_below(["opposite"], every, bound=LOWER, above=True))
    sharp = exact.bound_ratio("opposite", "KL-ULCB, opposite", f"{LOWER}, opposite")
    yield _claim("opposite-sharp", sharp)
    yield _claim("opposite-bounds", *(growth.towards("opposite", label, MIDDLE) for label in RIGHT))


CLAIMS: tuple[Claim[Results], ...] = (
    *_main_part(),
    *_two_state(),
    *_open_choices(),
    *_general(),
    *_coefficients(),
    *_opposite(),
)
"""All claims in the order of the paper, except that rows of a kind stand together."""


def claims_about(trials: Iterable[str], figures: Iterable[str]) -> list[Claim[Results]]:
    """The claims that these trials suffice for, or that go with one of these figures."""
    there, shown = set(trials), set(figures)
    return [
        claim
        for claim in CLAIMS
        if claim.figure in shown or (claim.trials and there.issuperset(claim.trials))
    ]
