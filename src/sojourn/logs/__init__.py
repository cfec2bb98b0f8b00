"""From logs to a decision: read, fit, decide what to run, evaluate a policy.

The layers, each of which imports only those below it:

    report               what people see: text, JSON, an HTML page
    deciding, evaluating what to run, by simulation; a policy's value on another policy's log
    model                totals, leave probabilities, mistake costs, warnings
    reading              sources, columns, events, steps of visits

`synthetic` makes logs and stands apart. `Fit`, `Advice` and `Evaluation` are plain data:
`report` registers how they print, and is loaded when they do. Ibis and the simulator are loaded
on first use.
"""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from ..users.population import Population as Population
    from . import report as report
    from .deciding.advice import Advice as Advice
    from .deciding.decide import decide as decide
    from .deciding.outcomes import CandidateOutcome as CandidateOutcome
    from .evaluating.evaluate import Evaluation as Evaluation, evaluate as evaluate, learn as learn
    from .evaluating.trajectories import Trajectories as Trajectories, trajectories as trajectories
    from .model.adjusted import (
        AdjustedCosts as AdjustedCosts,
        ArmEffect as ArmEffect,
        JointModel as JointModel,
    )
    from .model.costs import Costs as Costs, Inequality as Inequality
    from .model.diagnostics import Diagnostic as Diagnostic
    from .model.ema import EmaFit as EmaFit
    from .model.fit import Alternative as Alternative, fit as fit, sensitivity as sensitivity
    from .model.fitted import ArmFit as ArmFit, Fit as Fit
    from .model.sample import Incumbent as Incumbent
    from .model.users import OwnFirstStep as OwnFirstStep, TableLeave as TableLeave
    from .reading.source import columns as columns
    from .reading.spec import LogSpec as LogSpec, Reading as Reading
    from .synthetic import synthetic_log as synthetic_log

__getattr__, __dir__ = exports(__name__)
