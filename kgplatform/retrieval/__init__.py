"""Finding the passages that fit a question: one index, several methods, one interface."""
