"""The server: pages to ask and look things up, a SPARQL endpoint, and linked data, over one `KnowledgeGraph`."""
