"""OpenVINO GenAI without a draft model, on the same target: what its own sampling says."""

import openvino_draft


def generate(p, q, gamma, length, seeds):
    return openvino_draft.generate(p, q, gamma, length, seeds, alone=True)
