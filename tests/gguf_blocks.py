"""Random matrices in each type of GGUF's blocks, and the numbers that the blocks stand for."""

from __future__ import annotations

import numpy as np

from hsd.models.small.engine import BLOCKS, KINDS

Bytes = np.ndarray  # (blocks, bytes of a block) uint8
TYPES = {name: kind for kind, name in KINDS.items()}
FLOATS = ("F32", "F16", "BF16")
WITH_LOW = ("Q4_1", "Q5_1")
OF_OCTETS = ("Q4_K", "Q5_K")
# the root mean square of a block's weights over the scale that its halves begin with
SPREADS = {"Q4_0": 4.6, "Q4_1": 4.6, "Q5_0": 9.2, "Q5_1": 9.2, "Q8_0": 74, "Q6_K": 1360}
SPREADS |= {"Q4_K": 170, "Q5_K": 340}


def random_rows(
    name: str, rows: int, columns: int, size: float, noise: np.random.Generator
) -> bytes:
    """Return the bytes of a random matrix (rows, columns) of a type.

    size: the root mean square of its numbers, about. All bits of weights and of their scales
    occur; lows are such that the numbers are about 0 on average.
    """
    if name in FLOATS:
        return _of_floats(name, size * noise.standard_normal((rows, columns), np.float32))
    weights, length = BLOCKS[TYPES[name]]
    count = rows * columns // weights
    blocks = np.frombuffer(noise.bytes(count * length), np.uint8).reshape(count, length).copy()
    scale = size / SPREADS[name] * noise.uniform(0.7, 1.3, count)
    if name in OF_OCTETS:
        most = 15 if name == "Q4_K" else 31
        _put_halves(blocks, 0, scale, scale * most / 2)
        blocks[:, 4:16] = _random_scales(count, noise)
    elif name == "Q6_K":
        _put_halves(blocks, 208, scale * noise.choice([-1, 1], count))
    elif name in WITH_LOW:
        most = 15 if name == "Q4_1" else 31
        _put_halves(blocks, 0, scale, -scale * most * noise.uniform(0.4, 0.6, count))
    else:
        _put_halves(blocks, 0, scale * noise.choice([-1, 1], count))
    return blocks.tobytes()


def numbers_of(name: str, data: bytes, rows: int, columns: int) -> np.ndarray:
    """Return the numbers (rows, columns) float64 that the bytes of a matrix of a type stand for."""
    if name == "F32":
        return np.frombuffer(data, "<f4").reshape(rows, columns).astype(np.float64)
    if name == "F16":
        return np.frombuffer(data, "<f2").reshape(rows, columns).astype(np.float64)
    if name == "BF16":
        upper = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        return upper.view(np.float32).reshape(rows, columns).astype(np.float64)
    blocks = np.frombuffer(data, np.uint8).reshape(-1, BLOCKS[TYPES[name]][1])
    return _READERS[name](blocks).reshape(rows, columns)


def _of_floats(name: str, numbers: np.ndarray) -> bytes:
    if name == "F32":
        return numbers.tobytes()
    if name == "F16":
        return numbers.astype(np.float16).tobytes()
    return (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()


def _put_halves(blocks: Bytes, at: int, *numbers: np.ndarray) -> None:
    """Write half-precision numbers, each (blocks,), beside each other from byte `at` on."""
    halves = np.stack(numbers, 1).astype(np.float16)
    blocks[:, at : at + 2 * len(numbers)] = halves.view(np.uint8)


def _half(blocks: Bytes, at: int) -> np.ndarray:
    """Return the half-precision number at a byte of each block, (blocks, 1)."""
    return blocks[:, at : at + 2].copy().view(np.float16).astype(np.float64)


def _random_scales(count: int, noise: np.random.Generator) -> np.ndarray:
    """Return the 12 bytes with 8 scales and 8 lows of 6 bits each, for so many octets."""
    scales = noise.integers(0, 64, (count, 8), dtype=np.uint8)
    lows = np.clip(scales + noise.integers(-6, 7, (count, 8)), 0, 63).astype(np.uint8)
    first = scales[:, :4] | scales[:, 4:] >> 4 << 6
    second = lows[:, :4] | lows[:, 4:] >> 4 << 6
    third = (scales[:, 4:] & 15) | (lows[:, 4:] & 15) << 4
    return np.concatenate([first, second, third], 1)


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """Return the lower halves of bytes (blocks, n), then their upper halves: (blocks, 2 n)."""
    return np.concatenate([packed & 15, packed >> 4], 1)


def _bits(packed: np.ndarray) -> np.ndarray:
    """Return the bits of bytes (blocks, n), the lowest of the first byte first: (blocks, 8 n)."""
    return np.unpackbits(packed, axis=1, bitorder="little")


def _of_4_0(blocks: Bytes) -> np.ndarray:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]) - 8.0)


def _of_4_1(blocks: Bytes) -> np.ndarray:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _of_5_0(blocks: Bytes) -> np.ndarray:
    whole = _nibbles(blocks[:, 6:]) + 16.0 * _bits(blocks[:, 2:6])
    return _half(blocks, 0) * (whole - 16)


def _of_5_1(blocks: Bytes) -> np.ndarray:
    whole = _nibbles(blocks[:, 8:]) + 16.0 * _bits(blocks[:, 4:8])
    return _half(blocks, 0) * whole + _half(blocks, 2)


def _of_8_0(blocks: Bytes) -> np.ndarray:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _of_octets(blocks: Bytes, whole: np.ndarray) -> np.ndarray:
    """Return numbers of the types of octets. whole: their integers, (blocks, 8, 32)."""
    packed = blocks[:, 4:16].astype(np.int64)
    third = packed[:, 8:]
    scales = np.concatenate([packed[:, :4] & 63, (third & 15) + (packed[:, :4] >> 6) * 16], 1)
    lows = np.concatenate([packed[:, 4:8] & 63, (third >> 4) + (packed[:, 4:8] >> 6) * 16], 1)
    scaled = (_half(blocks, 0) * scales)[..., None] * whole
    return scaled - (_half(blocks, 2) * lows)[..., None]


def _nibbles_of_octets(packed: np.ndarray) -> np.ndarray:
    """Return 256 integers of 128 bytes: 32 bytes have a block of 32 in their lower halves, and the
    next one in their upper halves.
    """
    pairs = packed.reshape(-1, 4, 32)
    return np.stack([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32)


def _of_4_k(blocks: Bytes) -> np.ndarray:
    return _of_octets(blocks, _nibbles_of_octets(blocks[:, 16:]).astype(np.float64))


def _of_5_k(blocks: Bytes) -> np.ndarray:
    fifth = blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return _of_octets(blocks, _nibbles_of_octets(blocks[:, 48:]) + 16.0 * fifth)


def _of_6_k(blocks: Bytes) -> np.ndarray:
    """Each half has 64 bytes of lower bits, which hold 128 weights, and 32 of upper bits."""
    lower = blocks[:, :128].reshape(-1, 2, 64)
    lower = np.concatenate([lower & 15, lower >> 4], 2)
    upper = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    upper = upper >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    whole = lower.reshape(-1, 16, 16) + 16.0 * upper.reshape(-1, 16, 16) - 32
    scales = blocks[:, 192:208].view(np.int8)
    return (_half(blocks, 208) * scales)[..., None] * whole


_READERS = {
    "Q4_0": _of_4_0,
    "Q4_1": _of_4_1,
    "Q5_0": _of_5_0,
    "Q5_1": _of_5_1,
    "Q8_0": _of_8_0,
    "Q4_K": _of_4_k,
    "Q5_K": _of_5_k,
    "Q6_K": _of_6_k,
}
