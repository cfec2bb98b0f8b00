"""What a process that serves has loaded."""

import subprocess
import sys

SERVING = """
import asyncio, sys
from sojourn.service.app import Options, create
from sojourn.service import demo, server

async def serve() -> None:
    app = create(Options(store="memory://", demo=True, compiled=False))
    async with app.router.lifespan_context(app):
        await asyncio.sleep(0.5)

asyncio.run(serve())
print(*{name.split(".")[1] for name in sys.modules if name.startswith("sojourn.")})
"""


def test_a_process_that_serves_loads_neither_simulation_nor_logs_nor_lab() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVING], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"live", "service", "policies"} <= loaded
    assert not loaded & {"simulation", "logs", "paper", "cli", "gym", "recommendation"}
