"""Learning to extract from annotated examples: found in the text, told apart, fitted, kept as plain arrays."""
