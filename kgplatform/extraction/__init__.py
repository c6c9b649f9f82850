"""From text and tables to statements in the terms of the ontology, with a language model or without."""
