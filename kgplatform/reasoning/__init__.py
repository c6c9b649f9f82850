"""What follows from the statements and what is wrong with them: OWL 2 RL, SHACL, conformance, communities."""
