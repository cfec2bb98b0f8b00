"""Compile every policy that the service may be asked for; run when the image is built."""

import sojourn as sj
from sojourn.live import Experiment
from sojourn.paper import SETTINGS

for cls in sj.policies.ALL:
    with Experiment("warm", ["a", "b"], cls.for_problem(SETTINGS["B"])) as experiment:
        experiment.compile()
        visit = experiment.visit()
        visit.choose()
        visit.choose(1)
        visit.end(0)
