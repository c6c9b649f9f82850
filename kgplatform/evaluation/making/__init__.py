"""Gold questions made: from the graph backwards, from documents, from tables by template, for imagined users."""
