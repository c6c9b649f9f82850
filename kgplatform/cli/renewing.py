"""What `ontology update` prints: the changes, what becomes of the data, and what is left to do."""

from __future__ import annotations

from kgplatform.building.renewing import Renewal
from kgplatform.cli import output
from kgplatform.ontologies.difference import Change


def renewal_json(plan: Renewal) -> dict[str, object]:
    """The plan as JSON, without the changes (which `ontology diff` has)."""
    return {
        "ontology": list(plan.names),
        "replaced": [
            {"old": old.value, "new": new.value, "statements": plan.moved.get(old, 0)}
            for old, new in plan.succession.successors.items()
        ],
        "not_replaced": [{"term": term.value, "reason": why} for term, why in plan.succession.refused.items()],
        "stale_mappings": {name: list(terms) for name, terms in plan.stale_mappings.items()},
        "left": [{"term": change.iri.value, "statements": change.uses} for change in left(plan)],
    }


def left(plan: Renewal) -> list[Change]:
    """The terms that go and have no successor, although statements use them."""
    gone = (change for change in plan.difference.changes if change.outcome in ("removed", "renamed"))
    return [change for change in gone if change.uses and change.iri not in plan.succession.successors]


def print_renewal(plan: Renewal, *, dry_run: bool) -> None:
    """Prints it."""
    for old, new in plan.succession.successors.items():
        count = plan.moved.get(old, 0)
        output.say(f"replaced   {old.value} → {new.value}, in {count} statement{'' if count == 1 else 's'}")
    for term, reason in plan.succession.refused.items():
        output.say(f"unclear    {term.value} {reason}")
    for change in left(plan):
        near = f"; {change.new_iri.value} is called alike: --replace OLD=NEW moves them" if change.new_iri else ""
        output.say(f"left       {change.iri.value}: {change.uses} statements keep it, `check` lists them{near}")
    for name, terms in plan.stale_mappings.items():
        output.say(f"mapping    {name} names {', '.join(terms)}: edit it before its table is read again")
    what = "would be" if dry_run else "are"
    output.note(f"{len(plan.difference.changes)} terms differ; in use {what}: {', '.join(plan.names) or 'none'}")
