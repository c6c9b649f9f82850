"""Language models and embedders: an OpenAI-compatible server, and wrappers that cache, record, replay and count.

`chat` talks to a server, `cache` and `recording` wrap any chat model, `parallel` asks many things at once,
`embedding` turns texts into vectors. `structured` reads JSON out of replies, `server` holds the connection,
its retries and its errors. Nothing here reaches the network before a model is asked something.
"""
