"""Static files, cached by browsers for as long as their digest is current."""

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from .render import STATIC, digest


class Static(StaticFiles):
    """The files of the dashboard; requested with the current digest, they are cached for ever."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        known = scope["query_string"].decode("latin-1") == digest()
        kept = "public, max-age=31536000, immutable" if known else "no-cache"
        response.headers["Cache-Control"] = kept
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
