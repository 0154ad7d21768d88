"""The command `vertex-training`. Prints what the other rooms know; decides nothing itself."""
