"""The stages of making a graph, in order, each resumable."""
