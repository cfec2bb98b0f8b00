"""The usual design behind HTTP: python -m benchmarks.naive_service URL PORT.

Handlers run in a pool of threads, as a framework does with functions that block; the same server
and the same paths as those of `sojourn serve`.
"""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from .load import EXPERIMENT, VISITS
from .naive import at

ROOT = f"/v1/experiments/{EXPERIMENT}/visits/{{visit}}"


def app(url: str) -> Starlette:
    """The three paths that the load calls, and one to ask whether it is there."""
    server, pool = at(url), ThreadPoolExecutor(VISITS)

    async def decide(request: Request) -> JSONResponse:
        body, visit = json.loads(await request.body()), request.path_params["visit"]
        loop = asyncio.get_running_loop()
        arm = await loop.run_in_executor(pool, server.decide, visit, body.get("reward"))
        return JSONResponse({"visit": visit, "arm": str(arm)})

    async def end(request: Request) -> JSONResponse:
        body, visit = json.loads(await request.body()), request.path_params["visit"]
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(pool, server.end, visit, body["reward"])
        return JSONResponse({"ended": True})

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({})

    return Starlette(
        routes=[
            Route(f"{ROOT}/decisions", decide, methods=["POST"]),
            Route(f"{ROOT}/step", decide, methods=["POST"]),
            Route(f"{ROOT}/end", end, methods=["PUT"]),
            Route("/readyz", ready),
        ]
    )


if __name__ == "__main__":
    uvicorn.run(app(sys.argv[1]), port=int(sys.argv[2]), log_level="warning", access_log=False)
