"""Signing in with an API key, where the service needs one."""

from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..auth import sessions
from ..auth.keys import READING
from ..request import read_body

LONGEST = 4096  # bytes of a form, at most
Page = Callable[..., Response]


def signed_in(request: Request) -> bool:
    """Whether the request has a valid key."""
    return "sojourn.key" in request.scope


def may_see(request: Request, name: str) -> bool:
    """Whether the key of the request, if one is needed, is valid for an experiment."""
    allowed: bool = request.app.state.catalog.allows(request.scope.get("sojourn.key"), name)
    return allowed


def own_address(request: Request) -> str:
    """Where the browser has found the service: with https if it came by TLS."""
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


def login_route(page: Page) -> Route:
    """The form, which posts a key to sign in, or `out` to sign out."""

    async def login(request: Request) -> Response:
        keyring, scheme, headers = request.app.state.keyring, request.url.scheme, _headers(request)
        cookie = sessions.cookie_name(scheme, headers)
        secure = cookie == sessions.SECURE_COOKIE
        if keyring is None:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return page(request, "login.html", wrong="")
        if not _same_origin(request):
            return page(request, "login.html", 403, wrong="The form came from another site.")
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
            wrong = f"This key has the role {key.role}: it is not for reading."
            return page(request, "login.html", 403, wrong=wrong)
        response = RedirectResponse("/", 303)  # with a cookie closed to scripts and other sites
        session = keyring.sign_in(key)
        response.set_cookie(cookie, session, httponly=True, samesite="strict", secure=secure)
        return response

    return Route("/login", login, methods=["GET", "POST"])


def _headers(request: Request) -> dict[bytes, bytes]:
    return dict(request.scope["headers"])


def _same_origin(request: Request) -> bool:
    """Whether a form comes from a page of this site, by the Origin that browsers send."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
