"""Inference: what follows from the statements by the axioms of the ontology, written to ``graph/inferred``.

The axioms become rules over single predicates (`kgplatform.inference.rules`): the part of OWL 2 RL that the
ontologies use. Two evaluators apply the same rules, and tests hold them to the same result:

- `kgplatform.inference.scratch` computes everything anew: the premises as numbers in tables, each rule a join that
  DuckDB carries out, applied again only to what came since it last was.
- `kgplatform.inference.change` brings conclusions in line with statements that came and went, by looking at these
  and at what hangs on them (delete and rederive). A graph that is still small is concluded from in this way too.

Why not a ready OWL 2 RL engine. Measured on a seven-level tree of 100,000 statements (``benchmarks/inference.py``,
on a busy machine): owlrl needs minutes; reasonable, written in Rust, took 48 s to conclude and three times the
memory, DuckDB 0.7 s for the 550,000 conclusions, so that nearly all of the time is what Oxigraph's bulk loader needs
to write them. Nor do the engines take a statement back, say why they concluded something, leave a rule out that leads
to too much, or keep to the data instead of the axioms. The joins are a maintained engine's; what is our own is the
translation of axioms into rules and the book-keeping of changes.

Specification: OWL 2 Web Ontology Language Profiles (https://www.w3.org/TR/owl2-profiles/), §4.3; each rule
names the one it comes from. Left out on purpose: rules whose conclusions are equalities guessed from functional
properties and keys (such values are reported by `kgplatform.inference.findings`), reflexive properties (not in the
profile), and everything about the ontology's own terms.
"""

from kgplatform.inference.explaining import Explanation, why
from kgplatform.inference.findings import Finding
from kgplatform.inference.rules import Rule, RuleKind, RuleSet, rules_of

__all__ = ["Explanation", "Finding", "Rule", "RuleKind", "RuleSet", "rules_of", "why"]
