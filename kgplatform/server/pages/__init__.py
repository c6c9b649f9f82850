"""The pages, one file a subject: what each address shows, as HTML and as JSON."""
