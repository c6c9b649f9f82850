"""Traces for OpenTelemetry: a span for each request, by kind, with one for each call to the language model below it.

An extra (`pip install 'kgplatform[traces]'`), and off unless the settings name a collector. A request that comes with a
W3C ``traceparent`` continues that trace. No attribute is made of what a client sends: neither addresses nor questions,
queries or names.

Specification: https://opentelemetry.io/docs/specs/semconv/http/http-spans/ (without ``url.*``)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Response, g, has_app_context, request

from kgplatform import __version__
from kgplatform.errors import ConfigError
from kgplatform.server.interfaces.prometheus import kind_of
from kgplatform.types import Usage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_FAILED: Final = 500


def collector(address: str) -> TracerProvider:
    """What sends spans to the OTLP collector at the address, such as ``http://localhost:4318``, in the background.

    Raises:
        ConfigError: the packages for it are missing, or it is no address.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError("server.traces needs `pip install 'kgplatform[traces]'`", setting="server.traces") from error
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"server.traces {address!r} is no http address of a collector", setting="server.traces")
    named = Resource.create({"service.name": "kgplatform", "service.version": __version__})
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{address.rstrip('/')}/v1/traces")))
    return provider


def watch(app: Flask, provider: TracerProvider) -> Callable[[Usage, bool], None]:
    """Has every request to the app leave a span; gives what is to be told of calls to the model, as they end."""
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    tracer = provider.get_tracer("kgplatform")

    @app.before_request
    def begin() -> None:
        kind, rule = kind_of(request.endpoint, request.path), request.url_rule
        known = {"http.request.method": request.method, "http.route": rule.rule} if rule is not None else {}
        sent = extract({name.lower(): value for name, value in request.headers})
        g.span = tracer.start_span(kind, context=sent, kind=SpanKind.SERVER, attributes=known)

    @app.after_request
    def end(response: Response) -> Response:
        span = g.span
        span.set_attribute("http.response.status_code", response.status_code)
        if response.status_code >= _FAILED:
            span.set_status(Status(StatusCode.ERROR))
        response.call_on_close(span.end)
        return response

    def asked(usage: Usage, failed: bool) -> None:  # noqa: FBT001 (as a tally tells it)
        parent = set_span_in_context(g.span) if has_app_context() and "span" in g else None
        now, tokens = time.time_ns(), _tokens(usage)
        began = now - round(usage.seconds * 1e9)
        span = tracer.start_span("model", parent, SpanKind.CLIENT, attributes=tokens, start_time=began)
        if failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(now)

    return asked


def _tokens(usage: Usage) -> dict[str, Any]:
    return {"gen_ai.usage.input_tokens": usage.prompt_tokens, "gen_ai.usage.output_tokens": usage.completion_tokens}
