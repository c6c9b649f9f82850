"""Answers judged: faithful to their passages, to the point, better than another; by a model, or by an estimate."""
