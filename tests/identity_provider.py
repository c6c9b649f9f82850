"""An OpenID provider on this machine, made of authlib's own server parts: people sign in by their name alone."""

from __future__ import annotations

import secrets
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core.grants import OpenIDCode
from authlib.oidc.core.userinfo import UserInfo
from flask import Flask, Response, jsonify, request
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "kgplatform", "between the two"


class _Registered(ClientMixin):  # type: ignore[misc]
    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.endswith("/sign-in/return")

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(client_secret, SECRET)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return bool(endpoint) and method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class _Code(SimpleNamespace):
    def get_redirect_uri(self) -> str:
        return str(self.redirect_uri)

    def get_scope(self) -> str:
        return str(self.scope)

    def get_nonce(self) -> str | None:
        return self.nonce  # type: ignore[no-any-return]

    def get_auth_time(self) -> int | None:
        return None

    def get_acr(self) -> str | None:
        return None

    def get_amr(self) -> list[str] | None:
        return None


def identity_provider(people: dict[str, list[str]], **forged: Any) -> tuple[Flask, RSAKey]:  # noqa: C901
    """The application; ``people`` have groups, ``forged`` claims are put into every ID token in place of the right."""
    app, codes = Flask("provider"), dict[str, _Code]()
    key = RSAKey.generate_key(2048, parameters={"kid": "one", "use": "sig", "alg": "RS256"})
    signing = SimpleNamespace(key=key)

    class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

        def save_authorization_code(self, code: str, asked: Any) -> None:
            data = asked.payload.data
            codes[code] = _Code(
                code=code,
                user=asked.user,
                redirect_uri=asked.payload.redirect_uri,
                scope=asked.payload.scope,
                nonce=data.get("nonce"),
                code_challenge=data.get("code_challenge"),
                code_challenge_method=data.get("code_challenge_method"),
            )

        def query_authorization_code(self, code: str, client: Any) -> _Code | None:
            return codes.get(code) if client else None

        def delete_authorization_code(self, authorization_code: _Code) -> None:
            codes.pop(authorization_code.code)

        def authenticate_user(self, authorization_code: _Code) -> Any:
            return authorization_code.user

    class Identity(OpenIDCode):  # type: ignore[misc]
        def exists_nonce(self, nonce: str, asked: Any) -> bool:
            return False

        def resolve_client_private_key(self, client: Any) -> RSAKey:
            return signing.key

        def get_client_algorithm(self, client: Any) -> str:
            return "RS256"

        def get_client_claims(self, client: Any) -> dict[str, Any]:
            return {"iss": request.host_url.rstrip("/"), **forged}

        def get_authorization_code_claims(self, authorization_code: Any) -> dict[str, Any]:
            return {**super().get_authorization_code_claims(authorization_code), **forged}

        def generate_user_info(self, user: str, scope: str) -> UserInfo:
            return UserInfo(sub=f"id-{user}", preferred_username=user, groups=people[user])

    server = AuthorizationServer(app, query_client=lambda name: _Registered() if name == CLIENT else None,
                                 save_token=lambda token, asked: None)  # fmt: skip
    server.register_grant(CodeGrant, [Identity(), CodeChallenge(required=True)])

    @app.get("/.well-known/openid-configuration")
    def configuration() -> Response:
        here = request.host_url
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return jsonify(issuer=here.rstrip("/"), **{name: f"{here}{path}" for name, path in places.items()})

    @app.get("/keys")
    def keys() -> Response:
        return jsonify(KeySet([key]).as_dict(private=False))

    @app.get("/authorize")
    def authorize() -> Any:
        user = unquote(request.headers["X-User"])
        grant = server.get_consent_grant(end_user=user)
        return server.create_authorization_response(grant_user=user, grant=grant)

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    app.extensions["signing"] = signing
    return app, key
