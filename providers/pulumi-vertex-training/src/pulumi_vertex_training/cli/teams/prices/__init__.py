"""`vertex-training prices`: the prices that costs are calculated with."""
