"""The words of the report around its numbers."""

PAGE = """# Beyond the paper: which policy, where, and at what risk

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command
with the same seed gives the same numbers. Intervals are 95 %. Policies of one problem met the
same users in every run, so that ratios of regrets are much sharper than the regrets.

The paper's explorers are UCB and KL-UCB, gated by the state (ULCB, KL-ULCB) in the case that one
has to know beforehand. Here they meet **IMED** and **Thompson** sampling, the same two with a
fixed gate (**Safe IMED**, **Safe Thompson**: explore in state 1 and play the KL lower bound in
state 0, or the other way round, “opposite”), and **learned optimism** (**Learned UCB, KL-UCB,
IMED, Thompson**), which estimates from departures what a mistake costs in each state and gates
itself once the difference is significant. With `floor=-1` they play the KL lower bound where
mistakes are dear, as Learned UCB and Learned KL-UCB always do here; **Learned IMED** itself
(`floor=0`) plays the empirical mean there. The **Priced index** has the least regret of those that
are told nothing, and is what `sojourn recommend` recommends on most problems; its rare bad runs are
worse than Learned IMED's ([tails](horizon.md#tails)). See also [learned
prices](ideas/learned-prices.md), how it is learned; [items that raise the exit rate](by-arm.md);
[which policy](policies.md) to take.

## Regret in one table

{headline}

After 20,000 visits, mean and 95 % interval. “The paper's best” is the one of KL-UCB and KL-ULCB,
for either case, that has the least regret here: one has to know which. **Learned IMED** and the
[priced index](index-policy.md) are told nothing. The [exact index](exact-index.md) is told how
people leave and how many visits there are. On the dozen smaller cases where the least possible
Bayes regret [is known](limit.md) it is within 2 % of it; here the least possible is not known.

## In short

{conclusions}

![Where a gate pays and where it hurts](figures/beyond-where.png)

Each point is a problem, with its 95 % interval: regret with a gate over regret of the same
explorer without. Left of the dotted line mistakes cost more in state 1 (the opposite case), right
of it in state 0 (normal). What is beyond the axes is drawn at their ends.

![Every policy on every problem](figures/beyond-worst.png)

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed if
one is wholly on the other side, and otherwise not decidable at this precision. With this many
intervals a few miss the truth.

{verdicts}

## Problems drawn at random

{drawn} of {draws} problems were run. {prior} “Less on” and “more on” count problems whose whole
interval is below or above 1.

{random}

## Worst cases

Over all problems except those with D < 0 in some state: the problem where the interval of the
ratio begins highest. (The greatest of many noisy ratios would be mostly noise.) “In hindsight” is
the paper's policy of least regret on that problem, chosen by the same runs.

{worst}

## Problem by problem

Regret of every policy relative to that of KL-UCB, then to that of the best of the paper's
policies in hindsight.

{groups}

The problems outside the model: *people differ in q* has six kinds of people whose leave chances
are 0.25 to 2 times the usual ones, *in case* three kinds of the normal and three of the opposite
case; *q falls* or *rises with the step* multiplies it by 6 to 1 or 0.1 to 2 over the first six
steps; *rewards shift* means that six kinds of people like everything 0.25 less to 0.25 more;
*tastes differ* that a third of the people prefer the second arm. There regret is against the best
fixed arm, and one that learned who is who could do better. D is averaged over the hidden kinds.
*Best arm is not optimal*: D(1) < 0, and the optimum plays the worst arm in state 1.

## Policies of other papers

{published}

**Learned AdaUCB** is AdaUCB (Wu, Guo and Liu, 2018) with a load learned from departures,
**KL-UCB-switch** the anytime policy of Garivier, Hadiji, Ménard and Stoltz (2022), which knows no
states. They have no leases, so they were run for fewer visits.

## Thompson sampling

{sampling}

It needs a draw for every arm at every step, so it was run for fewer visits. Its runs were raised
once, after a first look had left two claims undecided; the intervals do not allow for that.

## Open choices

**Where not to explore: lower confidence bound or empirical mean?** Both keep to arms that look
good; the lower bound also prefers those known well.

{caution}

*Learned IMED* with empirical means was thought of after the first results on the paper's, the
opposite and the fitted problems, and before those drawn at random were run: for it, only the latter
are a fresh test.

**How sure is sure enough?** Learned IMED by `confidence`, the number of standard errors that count
as significant, relative to IMED; the default is 1.5. Deciding early gains most in the normal case.
Deciding late is safer where a lower bound can hurt (`floor=-1`); with means there is less to fear.

{confidence}

{excess}

**KL-UCB+** was tried too, outside the package: its regret was that of IMED within 1 % on A, B, C,
the opposite instance, and the problems fitted to RoboMission and OULAD, at 20,000 visits. It
needs a solve for each index where IMED needs none, so it has no place here.
"""
