"""Inference: what follows from the statements by the axioms of the ontology, written to ``graph/inferred``.

The axioms become rules over single predicates (`kgplatform.inference.rules`): the part of OWL 2 RL that the
ontologies use. Two evaluators apply the same rules, and tests hold them to the same result:

- `kgplatform.inference.scratch` computes everything anew, by SPARQL that is compiled from the rules, one predicate at
  a time, in a store in memory; transitive properties become property paths.
- `kgplatform.inference.change` brings conclusions in line with statements that came and went, by looking at these
  and at what hangs on them (delete and rederive).

Why not a ready OWL 2 RL engine. Measured on a seven-level tree of 100,000 statements (``benchmarks/inference.py``):
owlrl needs minutes; reasonable, written in Rust, takes 12.5 s to conclude, where reading, concluding 550,000 statements
and writing them to disk takes 16.5 s here, and half a second once 1,000 statements have come or gone. What decides is
what it does not do: take a statement back, say why it concluded something, leave a rule out that leads to too much,
or keep to the data instead of the axioms. Concluding is done by Oxigraph's SPARQL; what is our own is the translation
of axioms into rules and the book-keeping of changes.

Specification: OWL 2 Web Ontology Language Profiles (https://www.w3.org/TR/owl2-profiles/), §4.3; each rule
names the one it comes from. Left out on purpose: rules whose conclusions are equalities guessed from functional
properties and keys (such values are reported by `kgplatform.inference.findings`), reflexive properties (not in the
profile), and everything about the ontology's own terms.
"""

from kgplatform.inference.explaining import Explanation, why
from kgplatform.inference.findings import Finding
from kgplatform.inference.rules import Rule, RuleKind, RuleSet, rules_of

__all__ = ["Explanation", "Finding", "Rule", "RuleKind", "RuleSet", "rules_of", "why"]
