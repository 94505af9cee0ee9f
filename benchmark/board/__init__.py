"""The board: which method earns most within a communication budget, by the benchmark protocol.

`task` has the tasks, `entries` the methods and their configurations, `board` the runs that are needed; `play` executes
them, and `result` compares the methods.
"""
