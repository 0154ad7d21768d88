"""The folder of a job, through which the emulator and the job's supervisor exchange data."""
