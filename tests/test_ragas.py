"""The measures of judged answers against those of the ragas package, on the same fixed verdicts; skipped without it.

It pulls in much, so that it is no dependency: install ragas beside kgplatform (``pip install ragas``, and an older
``langchain-community`` where its import fails) and run this file.
"""

from __future__ import annotations

import asyncio
import json
import math
import os

import pytest

from benchmarks.studies.judging import Answered, ModelJudge, judged
from kgplatform.models.stubs import HashEmbedder, ScriptedModel

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")  # it would report each use
outputs = pytest.importorskip("langchain_core.outputs", reason="the ragas package is not installed")
samples = pytest.importorskip("ragas.dataset_schema", reason="the ragas package is not installed")
models = pytest.importorskip("ragas.llms.base", reason="the ragas package is not installed")
metrics = pytest.importorskip("ragas.metrics", reason="the ragas package is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, of its own future
EMBEDDER = HashEmbedder()
ITEMS = (
    Answered(
        "en",
        "When does the West Zone open and what does it cost?",
        "The West Zone opens at nine. A ticket costs 150 yuan. Boats leave from the East Gate.",
        ("Boats leave from the East Gate.", "The West Zone opens at nine.", "It rained.", "The ticket is 120 yuan."),
        "It opens at nine. The ticket costs 120 yuan.",
    ),
    Answered("zh", "西栅几点开放？", "西栅上午九点开放。", ("西栅景区上午九点开放。",), "西栅上午九点开放。"),
    Answered("none", "Who built it?", "Nobody knows, it may have been Li Wei.", ("It rained.",), "Chen Yi built it."),
    Answered("evades", "Who built it?", "I don't know.", ("It rained.",), "Chen Yi built it."),
)
# What a judge says of each: claims supported, passages useful, gold found, and the questions that the answer answers.
WEST = ["When does the West Zone open?", "What does a ticket for the West Zone cost?", "Where do boats leave?"]
VERDICTS = {
    "en": ([True, False, True], [False, True, False, True], [True, True], WEST),
    "zh": ([True], [True], [True], ["西栅几点开放？", "西栅何时开门？", "几点？"]),
    "none": ([False], [False], [False], ["Who was Li Wei?", "Who?", "What?"]),
    "evades": ([], [False], [False], []),
}


class Embeddings:
    """Ours, as ragas asks for them."""

    def embed_query(self, text):
        return [float(value) for value in EMBEDDER.embed([text])[0]]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


def theirs(metric, item, *replies):
    """The score of a metric of ragas that is given these replies, one after the other."""
    waiting = [json.dumps(reply, ensure_ascii=False) for reply in replies]

    class Fixed(models.BaseRagasLLM):
        def generate_text(self, prompt, n=1, *_arguments, **_options):
            return outputs.LLMResult(generations=[[outputs.Generation(text=waiting.pop(0)) for _ in range(n)]])

        async def agenerate_text(self, prompt, n=1, *_arguments, **_options):
            return self.generate_text(prompt, n)

        def is_finished(self, response):
            return True

    metric.llm = Fixed()
    sample = samples.SingleTurnSample(
        user_input=item.question, response=item.answer, retrieved_contexts=list(item.passages), reference=item.reference
    )
    value = asyncio.run(metric.single_turn_ascore(sample))
    assert not waiting
    return None if math.isnan(value) else pytest.approx(float(value), abs=1e-6)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_measures_are_those_of_ragas(item):
    flags, useful, found, asked = VERDICTS[item.id]
    model = ScriptedModel(
        json.dumps({"claims": [{"claim": f"claim {n}", "supported": flag} for n, flag in enumerate(flags)]}),
        json.dumps({"questions": asked, "evasive": not asked}),
        json.dumps({"useful": useful}),
        json.dumps({"found": found}),
    )
    ours = judged(item, ModelJudge(model, EMBEDDER))
    claims = [{"statement": f"claim {n}", "reason": "", "verdict": int(flag)} for n, flag in enumerate(flags)]
    replies = [{"statements": [claim["statement"] for claim in claims]}, *([{"statements": claims}] if claims else [])]
    assert ours.faithfulness == theirs(metrics.Faithfulness(), item, *replies)
    precise = [{"reason": "", "verdict": int(flag)} for flag in useful]
    assert ours.context_precision == theirs(metrics.LLMContextPrecisionWithReference(), item, *precise)
    recalled = {"classifications": [{"statement": "s", "reason": "", "attributed": int(flag)} for flag in found]}
    assert ours.context_recall == theirs(metrics.LLMContextRecall(), item, recalled)
    answered = [{"question": text, "noncommittal": 0} for text in asked] or [{"question": "?", "noncommittal": 1}] * 3
    assert ours.relevancy == theirs(metrics.ResponseRelevancy(embeddings=Embeddings()), item, *answered)
