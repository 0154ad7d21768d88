"""Google's services apart from jobs, one package for each."""
