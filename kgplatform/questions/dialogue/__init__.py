"""Questions from which something is missing, and the turns in which it is supplied.

An ontology's ``.questions.ttl`` says what identifies, places and times the things people ask for (`scheme`). `parsing`
finds these in a question, `classify` says which class it is of, `ways` answers each class its own way, `spans` reckons
with times, `turns` and `follow` keep a conversation. `talking` puts them before `answer.ask`.
"""
