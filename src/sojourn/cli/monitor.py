"""The commands `sojourn monitor ...`: what a running experiment shows so far."""

from typing import TYPE_CHECKING, Annotated

from .arguments import LIVE, AsJson, group, option
from .output import print_json
from .stores import reading, store_and, store_words

if TYPE_CHECKING:
    from ..live import Comparison, History

command = group(
    LIVE,
    "monitor",
    "Compare variants, evaluate a shadow policy, detect drift.",
    "sojourn monitor compare live.db shorts",
)

OneExperiment = Annotated[list[str], store_words("[STORE] EXPERIMENT")]
Alpha = Annotated[float, option("Each interval holds at all times with probability 1 - alpha.")]
Planned = Annotated[float, option("Visits (shadow: users) at which intervals are narrowest.")]


@command("compare", "sojourn monitor compare live.db shorts")
def compare_command(
    words: OneExperiment,
    alpha: Alpha = 0.05,
    planned: Planned = 10_000.0,
    since: Annotated[int, option("Use visits opened since this epoch of the shares.")] = 1,
    over_time: Annotated[
        bool, option("Show how the comparison developed over time instead.", "--history")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the variants of an experiment with its holdout, whenever and as often as wanted."""
    from ..live import compare, history

    url, experiment = store_and(words, "EXPERIMENT")
    with reading(url) as store:
        if over_time:
            found: History | Comparison = history(store, experiment)
        else:
            found = compare(store, experiment, alpha=alpha, planned=planned, since=since)
    print_json(found) if as_json else print(found)


@command("shadow", "sojourn monitor shadow live.db shorts:old")
def shadow_command(
    words: OneExperiment,
    margin: Annotated[
        float, option("Acceptable loss of rewards per departure, as a share of your recommender's.")
    ] = 0.05,
    alpha: Alpha = 0.05,
    planned: Planned = 10_000.0,
    latest: Annotated[int | None, option("Latest events to use; default: 100,000.")] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a shadow policy beside your own recommender, and say whether to go live."""
    from ..live import shadow
    from ..live.monitor.shadow import LATEST

    url, experiment = store_and(words, "EXPERIMENT")
    how = {"alpha": alpha, "planned": planned, "margin": margin}
    with reading(url) as store:
        found = shadow(store, experiment, latest=LATEST if latest is None else latest, **how)
    print_json(found) if as_json else print(found)


@command("drift", "sojourn monitor drift live.db shorts")
def drift_command(
    words: OneExperiment,
    delta: Annotated[float, option("Probability of any false alarm at any time.")] = 0.05,
    as_json: AsJson = False,
) -> None:
    """Detect changes in the mean reward of an arm, or in how often users leave."""
    from ..live import drift

    url, experiment = store_and(words, "EXPERIMENT")
    with reading(url) as store:
        found = drift(store, experiment, delta=delta)
    print_json(found) if as_json else print(found)
