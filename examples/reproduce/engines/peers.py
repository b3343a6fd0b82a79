"""A peer's turn, see turn.py: llama.cpp, OpenVINO or ONNX Runtime, whichever the job names, by the
Python it runs with.

python peers.py convert MODEL.gguf FOLDER   # what OpenVINO GenAI reads of a GGUF file, in
OpenVINO's own format
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from turn import Job, Reader, greedy, main

ROOM = 1024  # tokens of a text


class LlamaCpp:
    """The published GGUF file as it is."""

    precision = "4-bit weights as published, 8-bit activations, float16 cache"
    packages = ["llama-cpp-python"]

    def __init__(self, job: Job) -> None:
        import llama_cpp

        self.reads = [Path(job["gguf"])]
        count = job["threads"]
        self.llama = llama_cpp.Llama(
            job["gguf"],
            n_ctx=ROOM,
            n_threads=count,
            n_threads_batch=count,
            logits_all=True,
            verbose=False,
        )

    @property
    def length(self) -> int:
        return int(self.llama.n_tokens)

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        self.llama.eval(tokens)
        return np.asarray(self.llama.scores[self.length - keep : self.length])

    def cut(self, length: int) -> None:
        self.llama._ctx.kv_cache_seq_rm(0, length, -1)
        self.llama.n_tokens = length


class OpenVinoGguf:
    """The published GGUF file by OpenVINO GenAI's own reader, which was saved as OpenVINO's format
    once.
    """

    precision = "4-bit and 8-bit weights by its own reader, 8-bit cache"
    packages = ["openvino", "openvino-genai"]

    def __init__(self, job: Job) -> None:
        import openvino

        model = Path(job["work"]) / "openvino" / "openvino_model.xml"
        self.reads = [model, model.with_suffix(".bin")]
        how = {"INFERENCE_NUM_THREADS": job["threads"]}
        compiled = openvino.Core().compile_model(str(model), "CPU", how)
        self.request = compiled.create_infer_request()
        self.tokens = []

    @property
    def length(self) -> int:
        return len(self.tokens)

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        before = self.length
        self.tokens += tokens
        self.request.infer(
            {
                "input_ids": np.array([tokens], np.int64),
                "attention_mask": np.ones((1, self.length), np.int64),
                "position_ids": np.arange(before, self.length, dtype=np.int64)[None],
                "beam_idx": np.zeros(1, np.int32),
            }
        )
        return np.asarray(self.request.get_output_tensor(0).data[0, -keep:])

    def cut(self, length: int) -> None:
        """Its state cannot be cut back: begin again, and read what stays."""
        kept = self.tokens[:length]
        self.tokens = []
        self.request.reset_state()
        if kept:
            self.read(kept, 1)


class Onnx:
    """The ONNX graph of graph.py, with a cache that is handed over at each pass. `run`: inputs to
    outputs by name.
    """

    precision = "float32"

    def __init__(self, job: Job) -> None:
        self.reads = [Path(job["work"]) / "float32.onnx"]
        told = job["shape"]
        self.sharing = told["num_attention_heads"] // told["num_key_value_heads"]
        empty = np.zeros((told["num_key_value_heads"], 0, told["head_dim"]), np.float32)
        self.cache = {
            f"{which}{layer}": empty for layer in range(told["num_hidden_layers"]) for which in "kv"
        }
        self.length = 0
        self.run = self.started(str(self.reads[0]), job["threads"])

    def started(self, path: str, threads: int) -> Any:
        raise NotImplementedError

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        before = self.length
        count = len(tokens)
        # what comes later
        hidden = np.triu(np.full((count, before + count), -1e9, np.float32), before + 1)
        given = {
            "tokens": np.array(tokens, np.int64),
            "positions": np.arange(before, before + count, dtype=np.int64),
            "mask": np.tile(hidden, (self.sharing, 1)),
        }
        found = self.run(given | self.cache)
        self.cache = {name: found[f"{name}_new"] for name in self.cache}
        self.length += count
        return np.asarray(found["logits"][-keep:])

    def cut(self, length: int) -> None:
        self.length = min(length, self.length)
        self.cache = {name: rows[:, :length] for name, rows in self.cache.items()}


class OnnxRuntime(Onnx):
    packages = ["onnxruntime"]

    def started(self, path: str, threads: int) -> Any:
        import onnxruntime

        how = onnxruntime.SessionOptions()
        how.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, how, providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_outputs()]
        return lambda given: dict(zip(names, session.run(names, given), strict=True))


class OpenVinoOnnx(Onnx):
    packages = ["openvino"]

    def started(self, path: str, threads: int) -> Any:
        import openvino

        how = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        compiled = openvino.Core().compile_model(path, "CPU", how)
        request = compiled.create_infer_request()
        names = [one.any_name for one in compiled.outputs]

        def run(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            request.infer(given)
            return {name: request.get_tensor(name).data.copy() for name in names}

        return run


MADE: dict[str, type[Any]] = {
    "llama.cpp": LlamaCpp,
    "OpenVINO, GGUF": OpenVinoGguf,
    "OpenVINO, ONNX": OpenVinoOnnx,
    "ONNX Runtime": OnnxRuntime,
}


def make(job: Job) -> Reader:
    made: Reader = MADE[job["engine"]](job)
    return made


def convert(gguf: Path, folder: Path) -> None:
    """Let OpenVINO GenAI read the file, and save beside a link to it what it made of it."""
    import openvino_genai

    folder.mkdir(parents=True, exist_ok=True)
    link = folder / gguf.name
    if not link.exists():
        link.symlink_to(gguf)
    openvino_genai.LLMPipeline(str(link), "CPU", enable_save_ov_model=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["convert"]:
        convert(*map(Path, sys.argv[2:]))
    else:
        main(make, greedy)
