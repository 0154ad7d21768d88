"""The needs of a job, looked up in its project before it runs: access, quota, images, networks."""
