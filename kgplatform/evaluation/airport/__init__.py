"""The airport study: question sets with gold answers made from a workspace's flights, and the methods compared on them.

`rows` reads the flights plainly, `straightforward`, `ambiguous` and `reasoning` make the questions, `making` puts
them into one file, `measuring` asks them, `sql` is the rival that queries a table.
"""
