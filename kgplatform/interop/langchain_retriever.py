"""The passages of a workspace for LangChain; needs ``pip install 'kgplatform[langchain]'``."""

from __future__ import annotations

from typing import Any

from kgplatform.graph import KnowledgeGraph
from kgplatform.interop import passage_metadata

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field
except ImportError as error:
    raise ImportError("LangChainRetriever needs LangChain: pip install 'kgplatform[langchain]'") from error


class LangChainRetriever(BaseRetriever):  # type: ignore[misc]  # without the extra it is not known
    """Finds passages as ``KnowledgeGraph.search`` does; the metadata say where each stands."""

    kg: KnowledgeGraph
    k: int = Field(default=10, ge=1)
    retriever: str = ""
    """A name of `kgplatform.retrieval.methods.RETRIEVERS`; empty: as in the settings."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        **given: Any,
    ) -> list[Document]:
        found = self.kg.search(query, given.get("k", self.k), retriever=self.retriever)
        return [Document(id=it.chunk.value, page_content=it.quote, metadata=passage_metadata(it)) for it in found]
