"""Setting A in JAX: one run written down, `vmap` over runs. Written for the comparison.

As in lockstep_numpy.py: arms once in their order, then by greatest index, ties broken at random,
c = 0, regret from gaps. In single and in double precision. Runs without Sojourn.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)  # doubles where asked for

HIGH, LOW = 0.9, 0.8
CHECK_VISITS, CHECK_RUNS = 40, 1500
LANES = 1000
Array = jax.Array


def hoeffding(mean: Array, pulls: Array, log_t: Array, optimism: Array) -> Array:
    """m + x sqrt(log t / (2 N))."""
    return mean + optimism * jnp.sqrt(log_t / (2.0 * pulls))


def kl(mean: Array, pulls: Array, log_t: Array, optimism: Array) -> Array:
    """The KL upper bound, or the lower one, by Newton's method from above."""
    tiny = 4.0 * jnp.finfo(mean.dtype).eps
    budget = jnp.abs(optimism) * log_t / pulls
    up = optimism > 0.0
    p = jnp.clip(jnp.where(up, mean, 1.0 - mean), tiny, 1.0 - tiny)
    own = p * jnp.log(p) + (1.0 - p) * jnp.log1p(-p)
    q = jnp.minimum(p + jnp.sqrt(0.5 * budget), -jnp.expm1((own - budget) / (1.0 - p)))
    q = jnp.clip(q, p + 0.5 * tiny, 1.0 - 0.25 * tiny)
    for _ in range(6):
        above = own - p * jnp.log(q) - (1.0 - p) * jnp.log1p(-q) - budget
        q = jnp.clip(q - above * q * (1.0 - q) / (q - p + 1e-30), p + 0.5 * tiny, 1.0 - 0.25 * tiny)
    return jnp.where(up, q, 1.0 - q)


INDICES: dict[str, Callable[..., Array]] = {"ULCB": hoeffding, "KLULCB": kl}
TYPES = {"float32": jnp.float32, "float64": jnp.float64}


def one_step(name: str, visits: float, t: Array, u: Array, run: tuple[Array, ...]) -> Any:
    """The step t of one run, decided by the uniform u."""
    pulls, won, state, ended, regret = run
    real = pulls.dtype
    log_t = jnp.log(t.astype(real))
    mean = won / jnp.maximum(pulls, 1.0)
    optimism = jnp.where(state == 1, 1.0, -1.0).astype(real)
    value = INDICES[name](mean, jnp.maximum(pulls, 1.0), log_t, optimism)
    coin = (4096.0 * u) % 1.0 < 0.5
    second = (value[1] > value[0]) | ((value[1] == value[0]) & coin)
    second = jnp.where(t <= 2, t == 2, second)
    reward = (u < jnp.where(second, LOW, HIGH)).astype(jnp.int32)
    gap = jnp.where(second, jnp.where(state == 1, 1.0, 10.0), 0.0)
    arm = jnp.stack([~second, second]).astype(real)
    left = (state == 0) & (reward == 0)
    return (
        pulls + arm,
        won + arm * reward,
        jnp.where(left, 1, reward),
        ended + left,
        regret + jnp.where(ended < visits, gap, 0.0).astype(real),
    )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def simulate(name: str, kind: str, runs: int, visits: float, steps: Array, key: Array) -> Any:
    """Every run for so many steps, or until all have had so many visits."""
    real = TYPES[kind]
    whole = jnp.int32
    first = (
        jnp.zeros((runs, 2), real),
        jnp.zeros((runs, 2), real),
        jnp.ones(runs, whole),
        jnp.zeros(runs, whole),
        jnp.zeros(runs, real),
    )

    def going(carry: Any) -> Array:
        t, run = carry
        return (t <= steps) & (run[3] < visits).any()

    def onward(carry: Any) -> Any:
        t, run = carry
        u = jax.random.uniform(jax.random.fold_in(key, t), (runs,), real)
        step = partial(one_step, name, visits)
        return t + 1, jax.vmap(step, in_axes=(None, 0, 0))(t, u, run)

    return jax.lax.while_loop(going, onward, (jnp.asarray(1, whole), first))


def check(name: str, kind: str) -> dict[str, Any]:
    """Regret after some visits, with its standard error."""
    key = jax.random.key(7)
    _, run = simulate(name, kind, CHECK_RUNS, CHECK_VISITS, jnp.asarray(10**8), key)
    regret = np.asarray(run[4], np.float64)
    return {
        "policy": f"{name} {kind}",
        "visits": CHECK_VISITS,
        "runs": CHECK_RUNS,
        "regret": float(regret.mean()),
        "std_error": float(regret.std(ddof=1) / np.sqrt(CHECK_RUNS)),
    }


def nanoseconds(name: str, kind: str, steps: int, seed: int) -> float:
    """A step of one run."""
    begin = process_time()
    key = jax.random.key(seed)
    jax.block_until_ready(simulate(name, kind, LANES, float("inf"), jnp.asarray(steps), key))
    return 1e9 * (process_time() - begin) / (LANES * steps)


def main(seconds: float, rounds: int) -> dict[str, Any]:
    """Time and check every policy in both precisions."""
    rows, checks = [], []
    for kind in TYPES:
        for name in INDICES:
            nanoseconds(name, kind, 10, 0)  # compile
            guess = nanoseconds(name, kind, 500, 0)
            steps = max(500, int(1e9 * seconds / (guess * LANES)))
            best = min(nanoseconds(name, kind, steps, seed) for seed in range(rounds))
            rows.append({"policy": name, "ns": best, "note": f"{LANES:,} runs, {kind}"})
            checks.append(check(name, kind))
    return {"version": jax.__version__, "rows": rows, "checks": checks}


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]), int(sys.argv[2]))))
