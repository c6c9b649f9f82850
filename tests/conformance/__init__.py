"""The W3C test suites, run: what the endpoint and the store do, compared with what the specifications ask for."""
