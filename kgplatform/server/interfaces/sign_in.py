"""Signing in at an OpenID provider: the authorization code flow with PKCE, state and nonce, by authlib.

The provider is asked when somebody signs in, never before. What the flow has to remember is in a sealed cookie of ten
minutes, so nothing is kept for those who never come back. The role is told by a claim of the ID token, and whoever has
none of the values that the settings name is refused.

Specification: OpenID Connect Core 1.0 §3.1, Discovery 1.0 §4; RFC 7636.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, redirect, request
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.urls import iri_to_uri

from kgplatform.errors import ConfigError
from kgplatform.server.access import SESSION, Rights, Sessions, is_foreign
from kgplatform.settings import SignInSettings, sign_in_secret
from kgplatform.sparql.protocol import ProtocolError

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import OAuth2Client

ROUTES: Final = frozenset({"sign_in.begin", "sign_in.back", "sign_in.end"})
"""The routes that anybody may ask."""
_FLOW: Final = "kgplatform_sign_in"
_FLOW_SECONDS: Final = 600
_TIMEOUT_SECONDS: Final = 10.0
_LEEWAY_SECONDS: Final = 60
_METHODS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""The signatures that an ID token may have: those by which only the provider can sign."""


class IdentityProvider:
    """An OpenID provider as the settings name it: where people are sent, and who came back, with which role."""

    def __init__(self, settings: SignInSettings) -> None:
        """Raises ConfigError if the package for it is missing, or the settings do not say who gets in."""
        if find_spec("authlib") is None:  # an extra
            raise ConfigError("sign_in needs `pip install 'kgplatform[sign-in]'`", setting="sign_in")
        self._settings = settings
        self._roles = tuple((value.strip(), role) for value, _, role in (x.rpartition(" ") for x in settings.roles))
        if not settings.client or not self._roles or not all(value for value, _ in self._roles):
            raise ConfigError("sign_in needs client, and roles such as 'staff read'", setting="sign_in")
        self._known: dict[str, Any] = {}

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that people may come to have."""
        return tuple(role for _, role in self._roles)

    def _client(self, redirect_uri: str) -> OAuth2Client:
        from authlib.integrations.httpx_client import OAuth2Client

        chosen = self._settings
        secret = sign_in_secret(chosen) or None
        return OAuth2Client(
            chosen.client,
            secret,
            scope=chosen.scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            timeout=_TIMEOUT_SECONDS,
        )

    def _metadata(self) -> Mapping[str, Any]:
        """What the provider says of itself.

        Raises:
            ProtocolError: 502, it does not answer or is another than the settings name.
        """
        if not self._known:
            issuer = self._settings.issuer.rstrip("/")
            found = _fetched(f"{issuer}/.well-known/openid-configuration")
            if str(found.get("issuer", "")).rstrip("/") != issuer:
                raise _failed("it says that it is another issuer")
            self._known = dict(found)
        return self._known

    def begin(self, redirect_uri: str) -> tuple[str, dict[str, str]]:
        """Where somebody who signs in is to be sent, and what is to be known when they come back; raises as `end`."""
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        with self._client(redirect_uri) as client:
            endpoint = self._metadata()["authorization_endpoint"]
            address, state = client.create_authorization_url(endpoint, code_verifier=verifier, nonce=nonce)
        return address, {"state": state, "nonce": nonce, "verifier": verifier}

    def end(self, flow: Mapping[str, str], redirect_uri: str, address: str) -> tuple[str, str]:
        """The name and role of who came back to that address.

        Raises:
            ProtocolError: 502, the provider fails; 403, it does not vouch for them, or they have no role here.
        """
        from authlib.common.errors import AuthlibBaseError
        from httpx import HTTPError
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        with self._client(redirect_uri) as client:
            known = self._metadata()
            try:
                given = client.fetch_token(
                    known["token_endpoint"],
                    authorization_response=address,
                    state=flow["state"],
                    code_verifier=flow["verifier"],
                )
                keys = KeySet.import_key_set(_fetched(known["jwks_uri"]))  # type: ignore[arg-type]
                token = jwt.decode(str(given.get("id_token", "")), keys, algorithms=list(_METHODS))
                jwt.JWTClaimsRegistry(
                    leeway=_LEEWAY_SECONDS,
                    iss={"essential": True, "value": known["issuer"]},
                    aud={"essential": True, "value": self._settings.client},
                    exp={"essential": True},
                    nonce={"essential": True, "value": flow["nonce"]},
                    sub={"essential": True},
                ).validate(token.claims)
            except HTTPError as error:
                raise _failed(str(error)) from error
            except (AuthlibBaseError, JoseError, ValueError, KeyError) as error:
                raise ProtocolError(403, "Not signed in", f"the provider does not vouch for you: {error}") from error
        claims = token.claims
        name = claims.get("preferred_username") or claims.get("email") or claims["sub"]
        return str(name)[:200], self.role_of(claims)

    def role_of(self, claims: Mapping[str, Any]) -> str:
        """The role of somebody with those claims.

        Raises:
            ProtocolError: 403, they have none.
        """
        held: Any = claims
        for part in self._settings.claim.split("."):
            held = held.get(part) if isinstance(held, Mapping) else None
        values = {str(item) for item in (held if isinstance(held, list) else [held])} | {"*"}
        ranks = ("admin", "write", "read")
        found = [role for value, role in self._roles if value in values]
        best = next((rank for rank in ranks if rank in found), found[0] if found else "")
        if not best:
            raise ProtocolError(403, "Not signed in", f"nothing in {self._settings.claim} gives you a role here")
        return best


def _fetched(address: str) -> dict[str, Any]:
    """The JSON object at an address of the provider.

    Raises:
        ProtocolError: 502, there is none.
    """
    import httpx

    try:
        found = httpx.get(address, timeout=_TIMEOUT_SECONDS).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise _failed(str(error) or type(error).__name__) from error
    if not isinstance(found, dict):
        raise _failed("what it says is no JSON object")
    return found


def _failed(reason: str) -> ProtocolError:
    return ProtocolError(502, "Not signed in", f"the provider could not be asked: {reason[:300]}")


def enlisted(settings: SignInSettings, rights: Callable[[Sessions | None], Rights]) -> Rights:
    """The rules with sessions for those who sign in, if the settings name a provider.

    Raises:
        ConfigError: the settings do not say who gets in, or name a role that there is none of.
    """
    if not settings.issuer:
        return rights(None)
    made = rights(Sessions(settings.hours))
    roles = IdentityProvider(settings).roles
    made.check_roles("sign_in.roles", (role for role in roles if role not in ("read", "write", "admin")))
    return made


def blueprint(settings: SignInSettings, rights: Rights) -> Blueprint:
    """The routes for signing in and out; none where nobody can."""
    routes = Blueprint("sign_in", __name__)
    if rights.sessions is None:
        return routes
    provider, sessions = IdentityProvider(settings), rights.sessions
    seal = URLSafeTimedSerializer(secrets.token_bytes(32), salt="sign in")

    def returning() -> str:
        return f"{request.url_root}sign-in/return"

    def cookie(response: Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(
            name,
            value,
            max_age=seconds,
            path=iri_to_uri(request.script_root) or "/",
            secure=request.is_secure,
            httponly=True,
            samesite="Lax",
        )

    @routes.get("/sign-in")
    def begin() -> Response:
        address, flow = provider.begin(returning())
        wanted = request.args.get("next", "")
        flow["next"] = wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/"
        response = _sent(address)
        cookie(response, _FLOW, str(seal.dumps(flow)), _FLOW_SECONDS)
        return response

    @routes.get("/sign-in/return")
    def back() -> Response:
        try:
            flow = seal.loads(request.cookies.get(_FLOW, ""), max_age=_FLOW_SECONDS)
        except BadData as error:
            raise ProtocolError(403, "Not signed in", "this sign-in has ended; begin again at /sign-in") from error
        name, role = provider.end(flow, returning(), request.url)
        response = _sent(f"{request.script_root}{flow['next']}")
        cookie(response, SESSION, sessions.write(name, role), sessions.seconds)
        cookie(response, _FLOW, "", 0)
        return response

    @routes.post("/sign-out")
    def end() -> Response:
        if is_foreign(request.headers):
            raise ProtocolError(403, "Forbidden", "a page of another origin may not sign you out")
        response = _sent(f"{request.script_root}/")
        cookie(response, SESSION, "", 0)
        return response

    return routes


def _sent(address: str) -> Response:
    response = redirect(address, 303)
    response.headers["Cache-Control"] = "no-store"
    return response  # type: ignore[return-value]
