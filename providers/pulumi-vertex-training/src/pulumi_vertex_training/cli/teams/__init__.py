"""Commands for teams: plan, check and deploy stacks, compare them with the cloud, promote."""
