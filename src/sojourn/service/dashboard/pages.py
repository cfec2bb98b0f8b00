"""The pages of the dashboard, and signing in with an API key where the service needs one."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ...live import Broken, Experiment, LiveError, NotFound
from ...validation import InputError
from ..auth import sessions
from ..auth.keys import READING
from ..catalog import Catalog
from ..errors import refusal_of
from ..fast_routes import SLASH
from ..request import read_body
from .panels import STATIC, digest, render
from .reference import calls, models
from .snapshots import Snapshots, Streams, View

log = logging.getLogger("sojourn.service")

SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Nothing from other hosts, nothing inline, nothing cached."""

AT_ONCE = 20  # experiments on one page of the list
LONGEST = 4096  # bytes of a form, at most
READABLE = "/", "/experiments/{name}", "/events/{name}"
"""The pages for keys that may read; the others are for all."""


def pages() -> list[BaseRoute]:
    """The routes of the dashboard; their handlers use `request.app.state.catalog`."""
    of = Pages()
    return [
        Route("/", of.experiments),
        Route("/experiments/{name}", of.experiment),
        Route("/events/{name}", of.events),
        Route("/docs", docs),
        Route("/login", login, methods=["GET", "POST"]),
        Mount("/static", Static()),
    ]


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A page, with its security headers."""
    text = render(template, signed_in=signed_in(request), **context)
    return HTMLResponse(text, status, SAFE)


async def docs(request: Request) -> Response:
    """The API, from its schema."""
    schema = request.app.openapi()
    return page(request, "docs.html", calls=calls(schema), models=models(schema))


class Pages:
    """The handlers, and the snapshots and streams that they share."""

    def __init__(self) -> None:
        self.snapshots = Snapshots()
        self.streams = Streams(self.snapshots)

    async def experiments(self, request: Request) -> Response:
        """List a page of experiments; if there are none, explain how to create one."""
        catalog: Catalog = request.app.state.catalog
        names = await catalog.names(request.scope.get("sojourn.key"))
        view = View.of(request.query_params)
        found = [name for name in names if view.search.lower() in name.lower()]
        pages = max(1, -(-len(found) // AT_ONCE))
        view = view.but(page=min(view.page, pages))
        rows, broken = list[dict[str, Any]](), list[str]()
        for name in found[AT_ONCE * (view.page - 1) : AT_ONCE * view.page]:
            try:
                experiment = await catalog.experiment(name)
                rows.append(await self.snapshots.row(experiment))
            except NotFound:
                continue  # dropped meanwhile
            except Broken as error:
                broken.append(str(error))
            except Exception as error:  # one experiment never hides the others
                if refusal_of(error) is None:
                    request.app.state.metrics.bugs.inc()
                    log.error("the dashboard cannot show %r", name, exc_info=error)
                else:
                    log.warning("the dashboard cannot show %r: %s", name, error)
                broken.append(f"{name} cannot be shown now: see the log")
        base = own_address(request)
        return page(
            request, "experiments.html", rows=rows, broken=broken, base=base, view=view,
            pages=pages, found=len(found), all=len(names), key_needed=signed_in(request),
        )  # fmt: skip

    async def experiment(self, request: Request) -> Response:
        async def show(experiment: Experiment) -> Response:
            view = View.of(request.query_params)
            snapshot = await self.snapshots.get(experiment, view.span)
            panels = snapshot.rendered(view).panels
            return page(request, "experiment.html", name=experiment.name, view=view, panels=panels)

        return await self._with_experiment(request, show)

    async def events(self, request: Request) -> Response:
        async def show(experiment: Experiment) -> Response:
            catalog, view = request.app.state.catalog, View.of(request.query_params)
            still = may_go_on(request, experiment.name)
            return self.streams.response(catalog, experiment.name, view, still)

        return await self._with_experiment(request, show)

    async def _with_experiment(
        self, request: Request, show: Callable[[Experiment], Awaitable[Response]]
    ) -> Response:
        """What `show` makes of the experiment of the address, or a page with the error."""
        name = request.path_params["name"].replace(SLASH, "/")
        try:
            return await show(await request.app.state.catalog.experiment(name))
        except NotFound:
            return page(request, "error.html", 404, what=f"There is no experiment “{name}”.")
        except Broken as error:
            return page(request, "error.html", 409, what=f"{error}.")
        except LiveError:
            return page(request, "error.html", 503, what="The store cannot be read right now.")
        except InputError as error:
            return page(request, "error.html", 422, what=f"It cannot be served: {error}.")


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


def signed_in(request: Request) -> bool:
    """Whether the request has a valid key."""
    return "sojourn.key" in request.scope


def own_address(request: Request) -> str:
    """The address at which the browser found the service: https if it came by TLS."""
    secure = sessions.secure(request.url.scheme, _headers(request))
    return str(request.base_url.replace(scheme="https") if secure else request.base_url).rstrip("/")


def may_go_on(request: Request, name: str) -> Callable[[], bool]:
    """Whether the request would be admitted now: its key or session may have ended meanwhile."""
    keyring = request.app.state.keyring
    if keyring is None:
        return lambda: True
    caller = partial(keyring.caller, request.method, request.url.scheme, _headers(request))

    def still() -> bool:
        key = caller()
        if key is None:
            return False
        whole = request.app.state.catalog.whole_of(name)
        return key.refusal(READING, name, whole=whole) is None

    return still


async def login(request: Request) -> Response:
    """The form, which posts a key to sign in, or `out` to sign out."""
    keyring, scheme, headers = request.app.state.keyring, request.url.scheme, _headers(request)
    cookie = sessions.cookie_name(scheme, headers)
    secure = cookie == sessions.SECURE_COOKIE
    if keyring is None:
        return RedirectResponse("/", 303)
    if request.method != "POST":
        return page(request, "login.html", wrong="")
    if not _same_origin(request):
        return page(request, "login.html", 403, wrong="This form was sent from another site.")
    form = parse_qs((await read_body(request.receive, LONGEST)).decode("latin-1"))
    if "out" in form:
        keyring.sign_out(sessions.from_headers(scheme, headers))
        response = RedirectResponse("/login", 303)
        response.delete_cookie(cookie, httponly=True, samesite="strict", secure=secure)
        return response
    token = form.get("key", [""])[0].strip()
    key = keyring.find(token)
    if key is None:
        return page(request, "login.html", 401, wrong="This key is not valid.")
    if key.role not in READING:
        wrong = f"This key has the role {key.role}: it cannot read."
        return page(request, "login.html", 403, wrong=wrong)
    response = RedirectResponse("/", 303)  # with a cookie closed to scripts and other sites
    session = keyring.sign_in(key)
    response.set_cookie(cookie, session, httponly=True, samesite="strict", secure=secure)
    return response


def _headers(request: Request) -> dict[bytes, bytes]:
    return dict(request.scope["headers"])


def _same_origin(request: Request) -> bool:
    """Whether a form comes from a page of this site, by the Origin that browsers send."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
