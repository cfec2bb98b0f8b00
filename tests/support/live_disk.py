"""A process that meets a full disk: python live_disk.py FILE."""

import resource
import sys
from pathlib import Path

from rows import row_of

import sojourn as sj
from sojourn.live import Ask, Experiment, Unavailable, verify


def main(path: str) -> None:
    with Experiment(
        "disk", ["a", "b"], sj.policies.LearnedUCB(), store=f"sqlite:///{path}", compiled=False
    ) as experiment:
        visit = experiment.visit(id="v")
        visit.decide(Ask(request="r0"))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = Path(path + "-wal").stat().st_size + 20_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        done = failed = 0
        for number in range(1, 100):
            try:
                visit.decide(Ask(reward=1, request=f"r{number}"))
                done = number
            except Unavailable as error:
                failed += 1
                sentence = str(error)
                if failed == 3:
                    break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        kept = row_of(visit)
        decision = visit.decide(Ask(reward=1, request="after"))
        memory = experiment.memory
        print(done, failed, kept.step, decision.step, int(memory.clock[0]))
        print(verify(experiment.journal.store, "disk"), sentence)


if __name__ == "__main__":
    main(sys.argv[1])
