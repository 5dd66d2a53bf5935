"""Train, score, evaluate, move a threshold, verify, export and import: what the command, a notebook and a server call.

Every function takes plain values, or a request, and returns a frozen dataclass; it prints nothing and asks nothing.
Where it is to write a file, the file is checked before long work and replaced at once at the end.
"""
