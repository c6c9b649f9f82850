"""Language models, embedders and re-rankers; nothing here reaches the network before a model is asked something."""
