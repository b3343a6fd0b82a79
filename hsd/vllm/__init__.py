"""A plugin of vLLM that records verification steps as `Step`, and can verify by HSD.

It records each step of chosen requests; HSD stands in place of vLLM's own verification. Nothing
happens unless the server is started with `--additional-config '{"hsd": {…}}'`; `Settings` in
`serving.py` says what may stand there. Tested with vLLM 0.32.0; what it needs of 0.33.0 is compared
with recorded signatures.
"""

KEY = "hsd"  # of vLLM's --additional-config, and of a request's vllm_xargs
