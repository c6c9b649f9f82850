"""The source studies, repeated on a workspace: their numbers beside ours."""
