"""Reference places: the administrative hierarchy that names in documents are resolved to.

A reference is data beside the graph: the shipped world part, and tables of national divisions. Only the places that
documents name, and those above them, are copied into the graph.
"""
