"""What a process in the sandbox uses: processor time, waits for a processor, memory, threads, scratch space."""
