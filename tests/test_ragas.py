"""The measures of judged answers against those of the ragas package, on the same fixed verdicts; skipped without it.

It pulls in much, so that it is no dependency: install ragas beside kgplatform (``pip install ragas``, and an older
``langchain-community`` where its import fails) and run this file.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from typing import Any

import pytest

from kgplatform.evaluation.judging.by_model import ModelJudge
from kgplatform.evaluation.judging.measures import Answered, Judged, judged
from kgplatform.testing import HashEmbedder, ScriptedModel

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
VERDICTS: dict[str, dict[str, Any]] = {
    "en": {
        "claims": [True, False, True],
        "useful": [False, True, False, True],
        "found": [True, True],
        "questions": [
            "When does the West Zone open?",
            "What does a ticket for the West Zone cost?",
            "Where do boats leave?",
        ],
    },
    "zh": {
        "claims": [True],
        "useful": [True],
        "found": [True],
        "questions": ["西栅几点开放？", "西栅何时开门？", "几点？"],
    },
    "none": {"claims": [False], "useful": [False], "found": [False], "questions": ["Who was Li Wei?", "Who?", "What?"]},
    "evades": {"claims": [], "useful": [False], "found": [False], "questions": []},
}


def ours(item: Answered) -> Judged:
    said = VERDICTS[item.id]
    model = ScriptedModel(
        json.dumps({"claims": [{"claim": f"claim {n}", "supported": flag} for n, flag in enumerate(said["claims"])]}),
        json.dumps({"questions": said["questions"], "evasive": not said["questions"]}),
        json.dumps({"useful": said["useful"]}),
        json.dumps({"found": said["found"]}),
    )
    return judged(item, ModelJudge(model, EMBEDDER))


class Embeddings:
    """Ours, as ragas asks for them."""

    def embed_query(self, text: str) -> list[float]:
        return [float(value) for value in EMBEDDER.embed([text])[0]]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def theirs(metric: Any, item: Answered, *replies: object) -> float:
    """The score of a metric of ragas that is given these replies, one after the other."""
    waiting = [json.dumps(reply, ensure_ascii=False) for reply in replies]

    class Fixed(models.BaseRagasLLM):  # type: ignore[misc,name-defined]
        """Replies what is fixed."""

        def generate_text(self, prompt: Any, n: int = 1, *_arguments: Any, **_options: Any) -> Any:
            return outputs.LLMResult(generations=[[outputs.Generation(text=waiting.pop(0)) for _ in range(n)]])

        async def agenerate_text(self, prompt: Any, n: int = 1, *_arguments: Any, **_options: Any) -> Any:
            return self.generate_text(prompt, n)

        def is_finished(self, response: Any) -> bool:
            return True

    metric.llm = Fixed()
    sample = samples.SingleTurnSample(
        user_input=item.question, response=item.answer, retrieved_contexts=list(item.passages), reference=item.reference
    )
    value = asyncio.run(metric.single_turn_ascore(sample))
    assert not waiting
    return float(value)


def alike(our: float | None, their: float) -> bool:
    """Equal, or both not to be had."""
    return math.isnan(their) if our is None else our == pytest.approx(their, abs=1e-6)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_faithfulness_is_that_of_ragas(item: Answered) -> None:
    flags = VERDICTS[item.id]["claims"]
    claims = [f"claim {n}" for n in range(len(flags))]
    replies: list[object] = [{"statements": claims}]
    if claims:
        pairs = zip(claims, flags, strict=True)
        replies.append({"statements": [{"statement": c, "reason": "", "verdict": int(flag)} for c, flag in pairs]})
    assert alike(ours(item).faithfulness, theirs(metrics.Faithfulness(), item, *replies))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_context_precision_is_that_of_ragas(item: Answered) -> None:
    replies = [{"reason": "", "verdict": int(flag)} for flag in VERDICTS[item.id]["useful"]]
    assert alike(ours(item).context_precision, theirs(metrics.LLMContextPrecisionWithReference(), item, *replies))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_context_recall_is_that_of_ragas(item: Answered) -> None:
    found = [{"statement": "s", "reason": "", "attributed": int(flag)} for flag in VERDICTS[item.id]["found"]]
    assert alike(ours(item).context_recall, theirs(metrics.LLMContextRecall(), item, {"classifications": found}))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_answer_relevancy_is_that_of_ragas(item: Answered) -> None:
    questions = VERDICTS[item.id]["questions"]
    replies = [{"question": text, "noncommittal": 0} for text in questions]
    replies = replies or [{"question": "?", "noncommittal": 1}] * 3
    metric = metrics.ResponseRelevancy(embeddings=Embeddings())
    assert alike(ours(item).relevancy, theirs(metric, item, *replies))
