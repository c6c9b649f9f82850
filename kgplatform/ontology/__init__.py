"""The ontology: the view that everything is derived from, packs and files it is read from, checks and a reasoner."""
