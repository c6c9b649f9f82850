"""The passages of a workspace as LangChain and LlamaIndex ask for them; by LangChain's standard tests too."""

import asyncio

import pytest
from interfaces import asked_workspace

from kgplatform.graph import KnowledgeGraph

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests")
pytest.importorskip("llama_index.core")

from langchain_tests.integration_tests import RetrieversIntegrationTests

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
