"""Decoding: who proposes, which rule verifies, how levels stack; rounds until a text ends; the record of each."""
