"""Abstract state machines of what must not go wrong, and their use: enumerated, in lockstep with production, drawn.

A model is written in the words of the clauses and shares no code with what it judges. What drives production for it
stands apart (`*_production`), and knows production through its public doors alone. What is the same for every model:
`enumerate`, `lockstep`, `mutants`, `subject`, `draw`.
"""
