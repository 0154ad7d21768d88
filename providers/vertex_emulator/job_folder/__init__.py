"""The folder of a job: the files through which the emulator and the supervisor talk to each other."""
