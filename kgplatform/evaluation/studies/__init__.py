"""The studies that the platform's methods come from, repeated on a workspace: their numbers beside ours."""
