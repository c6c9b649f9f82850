"""Traces as an OpenTelemetry collector gets them, read with OpenTelemetry's own messages."""

import gzip

import pytest
from flask import Flask, request
from local_server import local_server, running
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from workspaces import new_workspace

from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access
from kgplatform.server.app import JOBS, TRACES, create_app

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
REPLY = {"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}


def test_each_request_and_each_call_of_the_model_is_a_span_that_tells_nothing_of_what_was_sent(tmp_path):
    received, collector = [], Flask("collector")

    @collector.post("/v1/traces")
    def take():
        data = request.get_data()
        found = ExportTraceServiceRequest.FromString(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        received.extend(span for one in found.resource_spans for scope in one.scope_spans for span in scope.spans)
        return b"", 200, {"Content-Type": "application/x-protobuf"}

    with running(collector) as address, local_server(lambda _path, _sent: REPLY) as model:
        settings = f'[server]\ntraces = "{address}"\n[model]\nname = "m"\nurl = "{model}/v1"\nretries = 0'
        with KnowledgeGraph(new_workspace(tmp_path / "kg", settings=settings)) as kg:
            app = create_app(kg, access=Access())
            client, headers = app.test_client(), {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            asked = "/api/ask?question=Which+hotels+has+Peregrine%3F"
            for address, status in ((asked, 200), ("/sparql?query=ASK+%7B+Peregrine+%7D", 400), ("/peregrine", 404)):
                with client.get(address, headers=headers) as response:
                    assert response.status_code == status, response.text
            app.extensions[JOBS].stop()
            app.extensions[TRACES].shutdown()
    asked = next(span for span in received if span.name == "ask")
    calls = [span for span in received if span.name == "model"]
    assert (asked.trace_id.hex(), asked.parent_span_id.hex()) == (TRACE, PARENT)
    assert {"ask", "model", "sparql", "unknown"} == {span.name for span in received}
    assert all((call.trace_id, call.parent_span_id) == (asked.trace_id, asked.span_id) for call in calls)
    assert all(call.end_time_unix_nano >= call.start_time_unix_nano >= asked.start_time_unix_nano for call in calls)
    told = {item.key: item.value for item in asked.attributes}
    assert told["http.route"].string_value == "/api/ask"
    assert told["http.response.status_code"].int_value == 200
    assert {item.key: item.value.int_value for item in calls[0].attributes}["gen_ai.usage.input_tokens"] == 11
    assert "peregrine" not in str(received).lower()


def test_an_address_that_is_none_stops_the_server(tmp_path):
    settings = '[server]\ntraces = "localhost:4318"'
    with (
        KnowledgeGraph(new_workspace(tmp_path / "kg", settings=settings)) as kg,
        pytest.raises(ConfigError, match="http"),
    ):
        create_app(kg)
