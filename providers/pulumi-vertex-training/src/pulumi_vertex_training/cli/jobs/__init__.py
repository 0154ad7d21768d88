"""The commands `jobs`, `status`, `logs`, `cancel` and `import`."""
