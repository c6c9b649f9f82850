"""The built-in translator: from the words of a question to a query graph and its SPARQL, without a model."""
