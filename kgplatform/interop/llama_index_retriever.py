"""The passages of a workspace for LlamaIndex; needs ``pip install 'kgplatform[llamaindex]'``."""

from __future__ import annotations

from typing import Any

from kgplatform.graph import KnowledgeGraph
from kgplatform.interop import passage_metadata
from kgplatform.types import Evidence

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ImportError as error:
    raise ImportError("LlamaIndexRetriever needs LlamaIndex: pip install 'kgplatform[llamaindex]'") from error


_UNTOLD = ["document", "start", "end", "score"]  # what no model needs to read with a passage


class LlamaIndexRetriever(BaseRetriever):  # type: ignore[misc]  # without the extra it is not known
    """Finds passages as ``KnowledgeGraph.search`` does; the metadata say where each stands."""

    def __init__(self, kg: KnowledgeGraph, k: int = 10, retriever: str = "", **further: Any) -> None:
        """``retriever``: a name of `kgplatform.retrieval.methods.RETRIEVERS`; empty: as in the settings."""
        self._kg, self._k, self._retriever = kg, k, retriever
        super().__init__(**further)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._kg.search(query_bundle.query_str, self._k, retriever=self._retriever)
        return [NodeWithScore(node=_node(it), score=it.score) for it in found]


def _node(it: Evidence) -> TextNode:
    node = TextNode(id_=it.chunk.value, text=it.quote, metadata=passage_metadata(it))
    node.start_char_idx, node.end_char_idx = it.start, it.end
    node.excluded_llm_metadata_keys = node.excluded_embed_metadata_keys = _UNTOLD
    node.relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=it.document.value)}
    return node
