"""The portable engine: a small Llama and its head in integers.

It is one WebAssembly module for Python and browsers.
"""
