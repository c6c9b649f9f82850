"""Answers from whichever source can give one: the graph, the passages of documents, pages from the web.

`domains` tells what a question is about and how fast that changes, `premises` what it wrongly takes for granted,
`spans` and `extractive` find an answer in passages, `cited` lets a model write one and holds every sentence
against what it cites, `deciding` puts the sources in order and chooses.
"""
