"""Extraction learnt from annotated examples: features, models, training, and the reader that applies them."""
