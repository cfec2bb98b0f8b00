"""An experiment that was opened before a fork: opened again by the child, or one clear error."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import postgres

BOTH = """
    import json, os, signal, sys
    from sojourn.live import Experiment, Forked, Journal, verify

    def in_child(work):
        there, here = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that hangs is killed
            try:
                os.write(here, json.dumps(work()).encode())
                os._exit(0)
            finally:
                os._exit(1)
        os.close(here)
        with open(there) as file:
            said = file.read()
        _, status = os.waitpid(child, 0)
        assert status == 0, (status, said)
        return json.loads(said)

    def refusal(call):
        try:
            call()
        except Forked as error:
            return str(error)

    def opened(name, **options):
        return Experiment(name, arms=["a", "b"], compiled=False, **options)
"""

ONE_PROCESS = """
    told = []
    for url in sys.argv[1:]:
        experiment = opened("shorts", store=url)
        visit = experiment.visit()
        visit.choose()

        def work():
            calls = (lambda: visit.choose(1)), experiment.visit, experiment.counts
            said = [refusal(call) for call in calls]
            experiment.close()
            return said

        told.append(in_child(work))
        visit.choose(1)
        visit.end()
        assert verify(experiment.journal.store, "shorts") == {}
        experiment.close()
    print(json.dumps(told))
"""

MANY_PROCESSES = """
    url = sys.argv[1]
    journal = Journal(url)
    experiments = [opened("x", store=journal), opened("y", store=journal), opened("z", store=url)]
    before = [experiment.visit() for experiment in experiments]

    def use():
        for experiment in experiments:
            for _ in range(3):
                visit = experiment.visit()
                visit.choose()
                visit.choose(1)
                visit.end()
        journals = {id(e.journal): e.journal for e in experiments}
        seeds = [int(e.branch.operations.learner._starts) for e in experiments]
        return [j.store.writer for j in journals.values()], seeds

    def work():
        found = [use(), in_child(work_below)]
        for thing in (*experiments, journal):
            thing.close()
        return found

    def work_below():
        for visit in before:
            visit.choose()
        return use()

    def only_close():
        for thing in (*experiments, journal):
            thing.close()

    found = [use(), *in_child(work)]
    in_child(only_close)
    assert use()[0] == found[0][0]
    checks = [verify(e.journal.store, e.name) for e in experiments]
    opens = [e.counts()["open", 0, 0, 0] for e in experiments]
    for thing in (*experiments, journal):
        thing.close()
    print(json.dumps([found, checks, opens]))
"""


def run(script: str, *arguments: str) -> Any:
    """In a process of its own: Python warns of forks beside threads, such as those of pytest."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", dedent(BOTH + script)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_store_of_one_process_says_what_to_do_and_the_parent_goes_on(tmp_path: Path) -> None:
    sentence = (
        "the experiment was opened before a fork, and its store serves one process: open it in the "
        "child, such as in gunicorn's post_fork, or use store='postgresql://...'"
    )
    assert run(ONE_PROCESS, "memory://", f"sqlite:///{tmp_path}/live.db") == [[sentence] * 3] * 2


def test_postgresql_is_opened_again_by_every_child() -> None:
    """Parent, child and grandchild at a time: each has writers and coins of its own."""
    with postgres.server() as url:
        found, checks, opens = run(MANY_PROCESSES, url)
    writers, seeds = ([x for part in parts for x in part] for parts in zip(*found, strict=True))
    assert len(set(writers)) == len(writers) == 3 * 2
    assert len(set(seeds)) == len(seeds) == 3 * 3
    assert checks == [{}] * 3
    assert opens == [1 + 4 * 3] * 3
