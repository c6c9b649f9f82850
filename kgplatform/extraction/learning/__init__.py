"""Learning to extract from annotated examples: aligned, featurised, fitted, kept as plain arrays; no model of language."""
