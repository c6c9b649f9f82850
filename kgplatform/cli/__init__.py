"""The command line: data on stdout, progress on stderr.

Exit status: 0 done, 1 the data or the answer falls short, 2 used wrongly.
"""
