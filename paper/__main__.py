"""Write paper.md, the text of paper.in.md with its numbers, and its figure: `python -m paper`.

Numbers are computed here (exact theory), read from the pages in docs that commands wrote, or from a
result, of which the figure is drawn too. That result was made by

    sojourn simulate A -p UCB -p ULCB -p KL-UCB -p KL-ULCB --runs 400 --save paper/regret.csv
"""

import re
from pathlib import Path

import sojourn as sj

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
RESULT = "regret.csv"
PLACE = re.compile(r"\{\{(\w+)\}\}")


def numbers() -> dict[str, str]:
    """The numbers of the paper, by name, as they are printed."""
    return {**_theory(), **_result(), **_benchmarks(), **_claims()}


def paper() -> str:
    """The text of paper.md."""
    found = numbers()
    text = (HERE / "paper.in.md").read_text(encoding="utf-8")
    return PLACE.sub(lambda place: found[place[1]], text)


def _theory() -> dict[str, str]:
    problem = sj.paper.SETTINGS["A"]
    worse = problem.gaps()[:, 1]
    best, other = problem.means
    return {
        "means": f"{best:g} and {other:g}",
        "cost_discontent": f"{worse[0]:.0f}",
        "cost_content": f"{worse[1]:.0f}",
        "cost_ratio": f"{worse[0] / worse[1]:.0f}",
    }


def _result() -> dict[str, str]:
    result = sj.Result.load(HERE / RESULT)
    last = result.regret.mean[:, -1]
    ends = {
        label.replace("-", "").lower(): end for label, end in zip(result.labels, last, strict=True)
    }
    (runs,) = set(result.runs)
    return {
        "runs": f"{runs:,}",
        "visits": f"{result.checkpoints[-1]:,}",
        **{f"regret_{label}": f"{end:,.0f}" for label, end in ends.items()},
    }


def _benchmarks() -> dict[str, str]:
    """What `make bench ARGS=--quick` wrote."""
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    peers = {tuple(row[:3]): row[4] for row in rows if len(row) == 6}
    costs = {row[0]: row[9] for row in rows if len(row) == 11}
    together = re.search(r"together: ([\d.,]+) core-seconds from gaps, ([\d.,]+) from", text)
    assert together is not None
    return {
        "ns_ucb": peers["sojourn", "UCB", "leases"],
        "ns_ulcb": peers["sojourn", "ULCB", "leases"],
        "ns_river": peers["river", "UCB", "UCB(delta=0.5)"],
        "ns_smpy": peers["SMPyBandits", "UCB", "UCBalpha(alpha=1)"],
        "ns_mabwiser": peers["mabwiser", "UCB", "UCB1(alpha=0.5)"],
        "ns_numpy": peers["NumPy, in lockstep", "ULCB", "1,000 runs"],
        "ns_jax": peers["JAX, vmap", "ULCB", "1,000 runs, float64"],
        "gain_klulcb": costs["KL-ULCB"],
        "seconds_gaps": together[1],
        "seconds_rewards": together[2],
    }


def _claims() -> dict[str, str]:
    """What `sojourn reproduce --precision paper --page docs/reproduction.md` wrote."""
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    found = re.search(r"(\d+) claims: (\d+) confirmed", text)
    assert found is not None
    return {"claims": found[1], "confirmed": found[2]}


if __name__ == "__main__":
    (HERE / "paper.md").write_text(paper(), encoding="utf-8")
    sj.Result.load(HERE / RESULT).plot(HERE / "regret.png", bounds=False)
