"""`doctor`: whether this machine has the parts that deployments and the emulator need."""
