"""Compile every policy that the service may be asked for; run when the image is built."""

import sojourn as sj
from sojourn.online import Bandit
from sojourn.paper import SETTINGS

for cls in sj.ALL:
    with Bandit("warm", ["a", "b"], cls.for_problem(SETTINGS["B"])) as bandit:
        visit = bandit.visit()
        visit.choose()
        visit.step(1)
        visit.end(0)
