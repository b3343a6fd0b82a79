"""The portable engine: one source in C, compiled for each processor, and what runs it."""
