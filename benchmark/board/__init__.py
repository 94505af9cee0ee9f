"""The board: which method earns most within a communication budget, by the benchmark protocol.

`task` has the tasks, `entries` the methods and their configurations, `board` which runs are needed, `play` plays them,
and `result` compares the methods.
"""
