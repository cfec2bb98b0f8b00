"""The figures as tables: for the terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.policies import POLICIES

from .bare import why_no_c
from .plans import PAPER_HALF_WIDTH

WORTH_IT = 10.0
"""The ratio of costs from which on the two estimators are in different leagues."""


@dataclass(frozen=True)
class Table:
    """Text in cells, a title above, a note below; the first `left` columns are words."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    left: int = 1

    def text(self) -> str:
        """Aligned, for a terminal."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        pad = [str.ljust if i < self.left else str.rjust for i in range(len(self.header))]
        body = ["  ".join(pad[i](c, widths[i]) for i, c in enumerate(line)) for line in lines]
        body.insert(1, "-" * len(body[0]))
        return "\n".join([self.title, *(line.rstrip() for line in body), self.note]).rstrip()

    def markdown(self) -> str:
        """A Markdown section."""
        rule = ["---" if i < self.left else "---:" for i in range(len(self.header))]
        lines = ["| " + " | ".join(line) + " |" for line in (self.header, rule, *self.rows)]
        parts = [f"### {self.title}", "\n".join(lines), self.note]
        return "\n\n".join(part for part in parts if part)


def number(x: float | None) -> str:
    """Three digits or so."""
    if x is None:
        return "-"
    if x >= 1000.0:
        return f"{x:,.0f}"
    return f"{x:.0f}" if x >= 100.0 else f"{x:.1f}" if x >= 10.0 else f"{x:.2f}"


def label(policy: str) -> str:
    """What tables call a policy, which the figures name by its class.

    >>> label("KLULCB"), label("ULCB float32")
    ('KL-ULCB', 'ULCB float32')
    """
    name, space, rest = policy.partition(" ")
    return (POLICIES[name].title or name) + space + rest


def bare_table(rows: list[dict[str, Any]]) -> Table:
    """The bare loops."""
    reason = why_no_c()
    note = (
        f"No C loop: {reason}."
        if reason
        else "Ratios below 1: faster than straightforward C. coasting is the loop the package runs."
    )
    return Table(
        "Bare loops, ns a step",
        ("setting", "C", "plain", "coasting", "plain / C", "coasting / C"),
        [
            (
                r["setting"],
                *(number(r[name]) for name in ("C", "plain", "coasting")),
                *(number(r[n] / r["C"] if r["C"] else None) for n in ("plain", "coasting")),
            )
            for r in rows
        ],
        note,
    )


def policy_table(rows: list[dict[str, Any]]) -> Table:
    """Every policy on every setting."""
    return Table(
        "Policies, ns a step with leases and without, and ratios to the bare loops",
        (
            "setting",
            "policy",
            "on",
            "off",
            "off / on",
            "on / plain",
            "on / coasting",
            "off / plain",
        ),
        [
            (
                r["setting"],
                label(r["policy"]) + ("" if r["leases"] else " *"),
                *(
                    number(r[c])
                    for c in ("on", "off", "off_to_on", "to_plain", "to_coasting", "off_to_plain")
                ),
            )
            for r in rows
        ],
        "(*) gives no lease: every step is decided, and on and off differ by noise.",
        left=2,
    )


def verdict(row: dict[str, Any]) -> str:
    """In words; what is not reached is a goal."""
    if row["reached_plain"]:
        return "reached" if row["reached_coasting"] else "reached against plain"
    return "goal"


def target_table(rows: list[dict[str, Any]]) -> Table:
    """The targets, reached or not yet."""
    return Table(
        "Targets: ratio to the bare loop, leases on",
        ("setting", "policy", "verdict", "target", "to plain", "to coasting"),
        [
            (
                r["setting"],
                label(r["policy"]),
                verdict(r),
                number(r["target"]),
                number(r["to_plain"]),
                number(r["to_coasting"]),
            )
            for r in rows
        ],
        left=3,
    )


def many_table(rows: list[dict[str, Any]]) -> Table:
    """Many arms."""
    columns = ("visits", "steps", "ns", "long_run")
    return Table(
        "Many arms, ns a step: all visits, and the second half of them (long run)",
        (
            "means", "policy", "arms", "visits", "steps", "on", "on, long run",
            "off", "off, long run",
        ),
        [
            (
                r["family"],
                label(r["policy"]),
                str(r["arms"]),
                *(number(r["on"][c]) for c in columns),
                *(number(r["off"][c] if r["off"] else None) for c in columns[2:]),
            )
            for r in rows
        ],
        "even: 0.9 down to 0.5 by equal steps. clear: 0.9, the others from 0.8 down to 0.5. "
        "Visits and steps are those with leases on; off makes as many as time allows.",
        left=2,
    )  # fmt: skip


def peer_table(found: dict[str, Any]) -> Table:
    """Peers, ours first."""
    lines = [
        ("sojourn", label(p), "leases", "", number(ns), "1") for p, ns in found["ours"].items()
    ]
    for peer in found["peers"]:
        if "unavailable" in peer:
            lines.append((peer["peer"], "-", peer["unavailable"], "", "-", "-"))
            continue
        lines += [
            (
                peer["peer"],
                label(r["policy"]),
                r["note"],
                peer["version"],
                number(r["ns"]),
                number(r["times"]),
            )
            for r in peer["rows"]
        ]
    return Table(
        "Peers at the same job (setting A, 2 arms), ns a step, and how many times slower",
        ("package", "policy", "how", "version", "ns", "times"),
        lines,
        left=4,
    )


def agreement_table(found: dict[str, Any]) -> Table:
    """Regret of the versions written for the comparison, beside ours."""
    return Table(
        "Do they compute the same? Regret ± standard error",
        ("package", "policy", "visits", "theirs", "ours", "apart, in standard errors"),
        [
            (
                peer["peer"],
                label(c["policy"]),
                str(c["visits"]),
                f"{c['regret']:.1f} ± {c['std_error']:.1f}",
                f"{c['ours']:.1f} ± {c['our_std_error']:.1f}",
                f"{c['apart']:.1f}{'' if c['agrees'] else ': DISAGREES'}",
            )
            for peer in found["peers"]
            for c in peer.get("checks", ())
        ],
        left=2,
    )


def precision_table(rows: list[dict[str, Any]]) -> Table:
    """Cost to the paper's precision."""
    index = [r for r in rows if r["ratio"] > WORTH_IT]
    total = {n: sum(r["core_seconds"][n] for r in index) for n in ("gaps", "rewards")}
    return Table(
        f"Cost of the paper's first figure: half-width {PAPER_HALF_WIDTH}, from gaps and from "
        "raw rewards",
        (
            "policy", "regret", "sd gaps", "sd rewards", "runs gaps", "runs rewards",
            "ms a run", "core-s gaps", "core-s rewards", "ratio", "core-s for 1 %",
        ),
        [
            (
                label(r["policy"]),
                number(r["regret"]),
                *(number(r[c][n]) for c in ("deviation", "needed") for n in ("gaps", "rewards")),
                number(1e3 * r["seconds_a_run"]),
                *(number(r["core_seconds"][n]) for n in ("gaps", "rewards")),
                number(r["ratio"]),
                number(r["one_percent"]["core_seconds"]),
            )
            for r in rows
        ],
        f"{', '.join(label(r['policy']) for r in index)} together: {number(total['gaps'])} "
        f"core-seconds from gaps, {number(total['rewards'])} from rewards. "
        "Deviations (sd) are per run. "
        "Last column: from gaps, to a half-width of 1 % of the regret.",
    )  # fmt: skip


def tables(found: dict[str, Any], live: Sequence[Table] = ()) -> list[Table]:
    """All tables of what was measured: what most people look for first, the longest last."""
    made = []
    if "peers" in found:
        made += [peer_table(found), agreement_table(found)]
    if "precision" in found:
        made.append(precision_table(found["precision"]))
    made += live
    if "policies" in found:
        made += [
            bare_table(found["bare"]),
            target_table(found["targets"]),
            policy_table(found["policies"]),
        ]
    if "many" in found:
        made.append(many_table(found["many"]))
    return made


def heading(found: dict[str, Any]) -> str:
    """What was measured on what, in two sentences."""
    machine = found["machine"]
    parts = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    kind = "A quick, rough run" if found["quick"] else "A full run"
    return (
        f"{kind}: {machine['date']}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, {found['pinned']}. {parts}."
    )
