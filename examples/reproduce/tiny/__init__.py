"""How the embedded models were made: a tokenizer, a target with early exits, and two drafts
distilled from it.
"""
