"""Decoding: who proposes, which rule verifies, how levels stack, and the record of each round."""
