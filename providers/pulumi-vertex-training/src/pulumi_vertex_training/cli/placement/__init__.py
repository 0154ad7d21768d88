"""`placement`: which worker of an ensemble builds and trains which part."""
