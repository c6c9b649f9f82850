"""Questions without a model: logical forms that the data admits, ranked by a learnt model."""
