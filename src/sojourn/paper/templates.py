"""The frames of the report."""

MARKDOWN = """# The paper, reproduced

Made by `{command}` (sojourn {version}, seed {seed}, precision "{precision}"). The same command
with the same seed gives the same numbers. Regret is summed from gaps; intervals are 95 %.
{summary}

## Claims

A claim is confirmed if the whole 95 % interval is on the claimed side, not confirmed if it is all
on the other side, and not decidable at this precision otherwise; a claim with several measurements
is confirmed if all are. Policies of one experiment met the same users and are compared run by run.
With this many intervals, a few in a hundred miss the truth.

{verdicts}
## Figures

{figures}"""

HTML = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The paper, reproduced</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem;
  color: #111; background: #fff; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; }}
.wide {{ overflow-x: auto; }}
.pair {{ display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }}
.pair img {{ width: 30rem; max-width: 100%; }}
.confirmed {{ color: #00612e; font-weight: 600; }}
.not_confirmed {{ color: #a3000b; font-weight: 600; }}
.undecided {{ color: #6b4e00; }}
code {{ background: #f3f3f3; padding: .1em .3em; }}
</style>
<h1>The paper, reproduced</h1>
<p>Made by <code>{command}</code> (sojourn {version}, seed {seed}, precision “{precision}”). The
same command with the same seed gives the same numbers. Regret is summed from gaps; intervals are
95 %. {summary}</p>
<h2>Claims</h2>
<p>A claim is confirmed if the whole 95 % interval is on the claimed side, not confirmed if it is
all on the other side, and not decidable at this precision otherwise; a claim with several
measurements is confirmed if all are. Policies of one experiment met the same users and are compared
run by run. With this many intervals, a few in a hundred miss the truth.</p>
{verdicts}
<h2>Figures</h2>
{figures}
</html>
"""
