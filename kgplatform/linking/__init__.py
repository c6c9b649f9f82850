"""From names to entities, and from what was read to statements."""
