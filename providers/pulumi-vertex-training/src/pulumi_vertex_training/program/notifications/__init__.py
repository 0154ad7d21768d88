"""The option `notifications` of jobs: its checks, and the resources that send them."""
