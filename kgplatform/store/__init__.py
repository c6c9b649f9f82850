"""The dataset: an Oxigraph store, the law of evidence over it, killable workers, earlier states, vectors."""
