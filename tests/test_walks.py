"""The seven traversals: against their rules written down plainly, on random graphs with frozen vectors."""

from __future__ import annotations

import numpy as np
import pytest

from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.retrieval import similarity
from kgplatform.retrieval.traversal import ModelGuide, WalkOptions, WalkRule, walk


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def random_graph(seed, *, documents=4, dimensions=8):
    """Documents of 3 to 7 sentences with random vectors; windows of three; edges as the builder makes them."""
    random = np.random.default_rng(seed)
    windows, nodes = [], []
    for number in range(documents):
        count = int(random.integers(3, 8))
        first, first_window = len(nodes), len(windows)
        cut = [range(start, start + 3) for start in range(count - 2)]
        windows += [tuple(first + place for place in window) for window in cut]
        nodes += [
            similarity.SentenceNode(
                f"urn:{number}", n, n + 1, f"{number}.{n}", tuple(first_window + w for w, c in enumerate(cut) if n in c)
            )
            for n in range(count)
        ]
    lean = random.normal(size=dimensions)
    window_vectors = unit(random.normal(size=(len(windows), dimensions)) + 0.6 * lean)
    sentence_vectors = unit(random.normal(size=(len(nodes), dimensions)) + 0.6 * lean)
    edges = []
    for w in range(len(windows)):
        own = {
            v for v in range(len(windows)) if v != w and nodes[windows[v][0]].document == nodes[windows[w][0]].document
        }
        others = set(range(len(windows))) - own - {w}
        cosines = window_vectors[w] @ window_vectors.T
        near = [sorted(group, key=lambda v: (-cosines[v], v))[:most] for group, most in ((own, 4), (others, 3))]
        edges.append(tuple(similarity.Edge(v, float(cosines[v])) for v in (*near[0], *near[1]) if cosines[v] > 0))
    moments = similarity.Moments.of(window_vectors, sentence_vectors)
    question = unit(random.normal(size=dimensions) + 0.6 * lean)
    return similarity.SimilarityGraph(
        tuple(windows), tuple(nodes), window_vectors, sentence_vectors, tuple(edges), moments
    ), question


class Plain:
    """The published rules, as plainly as they can be written."""

    def __init__(self, graph, question):
        self.g = graph
        self.Q = graph.window_vectors @ question
        self.S = graph.sentence_vectors @ question
        self.question = question

    def near(self, window):
        return [edge.target for edge in self.g.edges[window]]

    def cos(self, one, other):
        return float(self.g.window_vectors[one] @ self.g.window_vectors[other])

    def new(self, window, taken):
        return [s for s in self.g.windows[window] if s not in taken]

    def basic(self):
        taken, best = [], -1.0
        for c in sorted(range(len(self.Q)), key=lambda w: -self.Q[w]):
            if len(taken) >= 10 or (len(taken) >= 5 and self.Q[c] < best):
                break
            fresh = self.new(c, taken)
            taken += fresh
            best = max([best, *(self.S[s] for s in fresh)])
        return taken

    def along(self):
        current = int(np.argmax(self.Q))
        taken, before, hops = list(self.g.windows[current]), 0.0, 0
        while len(taken) < 10 and hops < 20:
            hops += 1
            open_ = [n for n in self.near(current) if not set(self.g.windows[n]) & set(taken)]
            if not open_:
                break
            nearest = max(open_, key=lambda n: self.cos(current, n))
            if hops > 1 and self.cos(current, nearest) <= before:
                break
            before = self.cos(current, nearest)
            current = nearest
            taken += self.new(current, taken)
        return taken

    def stepping(self, rate_window, rate_sentence, settled, *, sentence_ends):
        current = int(np.argmax(self.Q))
        visited, taken, hops = {current}, list(self.g.windows[current]), 0
        while len(taken) < 10 and hops < 20:
            hops += 1
            if hops > 1:
                taken += self.new(current, taken)
            near = self.near(current)
            if not near:
                break
            rated = {n: rate_window(current, n) for n in near}
            if settled and len(taken) >= 8 and settled(current, taken) > max(rated.values()):
                break
            if sentence_ends and max(rate_sentence(current, s) for s in self.g.windows[current]) > max(rated.values()):
                break
            open_ = [n for n in near if n not in visited]
            if not open_:
                break
            current = max(open_, key=rated.__getitem__)
            visited.add(current)
        return taken

    def by(self, rule):
        g, windows, sentences = self.g, self.Q, self.S
        if rule is WalkRule.BASIC:
            return self.basic()
        if rule is WalkRule.GRAPH:
            return self.along()
        if rule in (WalkRule.QUERY, WalkRule.GUIDED):
            settled = (lambda _, taken: max(sentences[s] for s in taken)) if rule is WalkRule.QUERY else None
            return self.stepping(lambda _, n: windows[n], None, settled, sentence_ends=False)
        if rule is WalkRule.AVERAGE:
            return self.stepping(
                lambda c, n: (windows[c] + windows[n] + self.cos(c, n)) / 3,
                lambda c, s: (windows[c] + 2 * sentences[s]) / 3,
                lambda c, t: max((windows[c] + sentences[s] + self.cos(c, g.sentences[s].windows[0])) / 3 for s in t),
                sentence_ends=True,
            )
        space = [self.question[None, :], g.window_vectors, g.sentence_vectors]
        if rule is WalkRule.GEOMETRIC:
            points = np.concatenate(space).astype(np.float64)
            _, _, directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
            space = [part @ directions[:3].T for part in space]
        q, w, v = space[0][0], space[1], space[2]
        return self.stepping(
            lambda c, n: -np.linalg.norm((q + w[c] + w[n]) / 3 - q),
            lambda c, s: -np.linalg.norm((q + w[c] + v[s]) / 3 - q),
            None,
            sentence_ends=True,
        )


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("seed", range(25))
def test_a_published_walk_takes_the_sentences_that_its_rule_says(rule, seed):
    graph, question = random_graph(seed)
    assert list(walk(graph, question, rule).sentences) == Plain(graph, question).by(rule)[:10]


@pytest.mark.parametrize("rule", WalkRule)
@pytest.mark.parametrize("seed", range(5))
def test_a_repaired_walk_brings_as_many_sentences_as_it_is_asked_for(rule, seed):
    graph, question = random_graph(seed, documents=5)
    found = walk(graph, question, rule, WalkOptions(sentences=12, repaired=True, hops=60))
    assert len(found.sentences) == min(12, len(graph.sentences))
    assert len(set(found.sentences)) == len(found.sentences)
    assert found.stopped == "has enough sentences"


@pytest.mark.parametrize("rule", WalkRule)
def test_an_empty_graph_and_a_wish_for_nothing_give_nothing(rule):
    empty = similarity.similarity_graph([], HashEmbedder(16))
    assert walk(empty, unit(np.ones(16)), rule).sentences == ()
    graph, question = random_graph(1)
    assert walk(graph, question, rule, WalkOptions(sentences=0)).sentences == ()


def test_a_guide_chooses_among_five_and_may_stop():
    graph, question = random_graph(2, documents=6)
    seen = []

    def guide(taken, choices):
        seen.append(len(choices))
        assert [c.cosine for c in choices] == sorted((c.cosine for c in choices), reverse=True)
        return None if len(seen) == 2 else len(choices) - 1

    found = walk(graph, question, WalkRule.GUIDED, WalkOptions(sentences=30), guide=guide)
    assert found.stopped == "the guide has seen enough"
    assert len(seen) == 2
    assert max(seen) <= 5


def test_a_model_leads_a_walk_and_is_shown_question_sentences_and_passages():
    graph, _ = random_graph(3)
    choices = [similarity.Edge(1, 0.5), similarity.Edge(2, 0.4)]
    model = ScriptedModel('{"next": 2}')
    guide = ModelGuide(model, graph, "哪里？")
    gathered = graph.windows[0]
    assert guide(gathered, choices) == 1
    told = model.conversations[0][-1].content
    assert "Question: 哪里？" in told
    assert all(graph.sentences[number].text in told for number in (*gathered, *graph.windows[2]))


@pytest.mark.parametrize(
    ("reply", "place"), [('{"next": 0}', None), ('{"next": 7}', 0), ('{"next": "two"}', 0), ('{"next": true}', 0)]
)
def test_what_a_model_replies_decides_the_next_step_or_the_nearest_is_taken(reply, place):
    guide = ModelGuide(ScriptedModel(reply), random_graph(3)[0], "Where?")
    assert guide((), [similarity.Edge(1, 0.5), similarity.Edge(2, 0.4)]) == place


TEXTS = [
    similarity.SourceText(
        "urn:a", "Wuzhen", "The West Zone opens at nine. A ticket costs 150 yuan. Boats run all day. Inns are old."
    ),
    similarity.SourceText("urn:b", "乌镇", "西栅九点开门。门票一百五十元。游船全天有。客栈很老。"),
    similarity.SourceText("urn:c", "Note", "Only one sentence about the ticket."),
]


def test_windows_overlap_by_all_but_one_sentence_and_keep_their_offsets():
    graph = similarity.similarity_graph(TEXTS, HashEmbedder(64))
    by_document = {text.iri: text.text for text in TEXTS}
    assert graph.windows == ((0, 1, 2), (1, 2, 3), (4, 5, 6), (5, 6, 7), (8,))
    for node in graph.sentences:
        assert by_document[node.document][node.start : node.end] == node.text
    assert graph.sentences[1].windows == (0, 1)
    assert graph.document_of(4) == "urn:c"


def test_neighbours_in_the_same_document_come_first_each_nearest_first_and_near_enough():
    options = similarity.GraphOptions(within=2, across=1, least_within=0.0, least_across=0.1)
    graph = similarity.similarity_graph(TEXTS, HashEmbedder(64), options)
    for window, edges in enumerate(graph.edges):
        own = [e for e in edges if graph.document_of(e.target) == graph.document_of(window)]
        others = list(edges[len(own) :])
        assert list(edges[: len(own)]) == own
        assert len(own) <= 2
        assert len(others) <= 1
        assert window not in {e.target for e in edges}
        assert all(e.cosine >= 0.1 for e in others)
        for group in (own, others):
            assert [e.cosine for e in group] == sorted((e.cosine for e in group), reverse=True)


def test_a_graph_read_back_is_the_one_that_was_saved(tmp_path):
    graph = similarity.similarity_graph(TEXTS, HashEmbedder(64))
    graph.save(tmp_path / "graph.npz", "these")
    again = similarity.SimilarityGraph.load(tmp_path / "graph.npz", "these")
    assert (again.windows, again.sentences, again.edges) == (graph.windows, graph.sentences, graph.edges)
    question = HashEmbedder(64).embed(["ticket"])[0]
    for rule in WalkRule:
        assert walk(again, question, rule) == walk(graph, question, rule)
    assert similarity.SimilarityGraph.load(tmp_path / "graph.npz", "others") is None


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04broken"])
def test_a_damaged_file_is_no_graph(tmp_path, content):
    (tmp_path / "graph.npz").write_bytes(content)
    assert similarity.SimilarityGraph.load(tmp_path / "graph.npz", "these") is None
    assert similarity.SimilarityGraph.load(tmp_path / "missing.npz", "these") is None
