"""The passages of a workspace as LangChain and LlamaIndex ask for them; by LangChain's standard tests too."""

import asyncio

import pytest
from interfaces import asked_workspace

from kgplatform.graph import KnowledgeGraph

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests")
pytest.importorskip("llama_index.core")

from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode

from kgplatform.interop.langchain_retriever import LangChainRetriever
from kgplatform.interop.llama_index_retriever import LlamaIndexRetriever


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieved")
    with KnowledgeGraph(asked_workspace(folder / "w")) as made:
        for name in ("Canal House", "Bridge Court", "Reed Lodge", "Willow Rest"):
            (folder / f"{name}.txt").write_text(f"{name} is a hotel near the old town.", encoding="utf-8")
        list(made.add(*folder.glob("*.txt")))
        yield made


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
class TestLangChainStandard(RetrieversIntegrationTests):
    """LangChain's own tests of a retriever."""

    @pytest.fixture(autouse=True)
    def _workspace(self, kg):
        type(self).kg = kg

    @property
    def retriever_constructor(self):
        return LangChainRetriever

    @property
    def retriever_constructor_params(self):
        return {"kg": self.kg}

    @property
    def retriever_query_example(self):
        return "hotel"


def test_langchain_documents_say_where_they_stand(kg):
    assert len(LangChainRetriever(kg=kg).invoke("hotel", k=2)) == 2
    (found,) = LangChainRetriever(kg=kg, k=1, retriever="lexical").invoke("通安客栈")
    assert "80间客房" in found.page_content
    assert found.metadata["source"].endswith("通安.txt")
    text = next(item.document.text for item in kg.documents() if item.document.iri.value == found.metadata["document"])
    assert text[found.metadata["start"] : found.metadata["end"]] == found.page_content
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        LangChainRetriever(kg=kg, k=0)


def test_llama_index_nodes_say_where_they_stand(kg):
    retriever = LlamaIndexRetriever(kg, k=1)
    (found,) = retriever.retrieve("Lakeside Inn")
    assert "24 rooms" in found.node.get_content()
    assert found.node.metadata["source"].endswith("inn.txt")
    assert found.score == found.node.metadata["score"]
    assert asyncio.run(retriever.aretrieve("Lakeside Inn"))[0].node.id_ == found.node.id_
    assert LlamaIndexRetriever(kg, k=5).retrieve("zzzz qqqq") is not None
    document = next(item.document for item in kg.documents() if item.document.iri.value == found.node.ref_doc_id)
    assert document.text[found.node.start_char_idx : found.node.end_char_idx] == found.node.get_content()
    assert TextNode.from_dict(found.node.to_dict()) == found.node


def test_a_query_engine_of_llama_index_reads_passages_with_their_sources_and_names_them(kg):
    engine = RetrieverQueryEngine.from_args(LlamaIndexRetriever(kg, k=1), llm=MockLLM())  # which says what it was told
    response = engine.query("How many rooms does Lakeside Inn have?")
    assert "It has 24 rooms." in response.response
    assert "inn.txt" in response.response
    assert not any(f"{name}:" in response.response for name in ("score", "start", "end", "document"))
    (node,) = response.source_nodes
    assert node.node.ref_doc_id == node.node.metadata["document"]
    assert asyncio.run(engine.aquery("Lakeside Inn")).source_nodes[0].node.id_ == node.node.id_


def test_llama_index_fuses_two_ways_of_retrieving_into_one_list(kg):
    both = [LlamaIndexRetriever(kg, k=3), LlamaIndexRetriever(kg, k=3, retriever="lexical")]
    fused = QueryFusionRetriever(
        both, llm=MockLLM(), num_queries=1, mode="reciprocal_rerank", use_async=False, similarity_top_k=4
    ).retrieve("Lakeside Inn")
    assert "24 rooms" in fused[0].node.get_content()
    assert len({item.node.id_ for item in fused}) == len(fused) <= 4
    assert {item.node.id_ for item in fused} <= {item.node.id_ for one in both for item in one.retrieve("Lakeside Inn")}
    least = (fused[0].score + fused[-1].score) / 2
    kept = SimilarityPostprocessor(similarity_cutoff=least).postprocess_nodes(fused)
    assert [item.node.id_ for item in kept] == [item.node.id_ for item in fused if item.score >= least]
