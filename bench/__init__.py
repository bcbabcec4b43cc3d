"""What a call costs, as ratios against baselines of the same run. `make bench` runs `python -m bench`.

Absolute times say more about a machine than about a program, so every figure is the ratio of two medians whose samples
were taken in turn: one of ours, one of the baseline's, order swapped each round (RK-PROC-017). The baselines do the
least that anybody could do for the same outcome:

- `baseline_click.py`   a minimal click program that starts the same child over the same channel, and keeps nothing
- `baseline_child.py`   the same child started, fed and reaped with nothing around it, and two bare commits
- `baseline_mcp.py`     a stdio server of the stock low-level `mcp` package that offers the same tools
- `baseline_mcp_child.py`  the same, starting the same child for each call
"""
