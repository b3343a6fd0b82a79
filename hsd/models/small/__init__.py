"""The portable engine: a small Llama and its head in integers, one WebAssembly module for Python and browsers."""
