"""ONNX Runtime GenAI without a draft model, on the same target: what its own sampling says."""

import onnxruntime_draft


def generate(p, q, gamma, length, seeds):
    return onnxruntime_draft.generate(p, q, gamma, length, seeds, alone=True)
