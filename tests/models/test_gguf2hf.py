"""The converter: q and k rows go back to where Hugging Face's rotary embedding expects them; the rest is refused."""

from types import ModuleType

import numpy as np
import pytest

FACTS = {"general.architecture": "llama", "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
         "llama.embedding_length": 32, "llama.feed_forward_length": 64, "llama.block_count": 1,
         "llama.context_length": 128, "llama.attention.layer_norm_rms_epsilon": 1e-5}


def turned_in_pairs(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotary embedding as llama.cpp has it: elements 2i and 2i + 1 turn by angle i."""
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    out[..., 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return out


def turned_in_halves(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotary embedding as Hugging Face has it: elements i and i + size / 2 turn by angle i."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * np.cos(angles) - second * np.sin(angles),
                           first * np.sin(angles) + second * np.cos(angles)], axis=-1)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_attention_scores_are_the_same_in_both_conventions(gguf2hf: ModuleType, size: int) -> None:
    draw = np.random.default_rng(0)
    heads, width = 3, 5
    q, k = draw.normal(size=(2, heads * size, width))
    x, y = draw.normal(size=(2, width))
    near, far = draw.normal(size=(2, size // 2))
    pairs = (turned_in_pairs((q @ x).reshape(heads, size), near)
             * turned_in_pairs((k @ y).reshape(heads, size), far)).sum(axis=1)
    halves = (turned_in_halves((gguf2hf.unpermute(q, heads) @ x).reshape(heads, size), near)
              * turned_in_halves((gguf2hf.unpermute(k, heads) @ y).reshape(heads, size), far)).sum(axis=1)
    np.testing.assert_allclose(halves, pairs)


def test_the_rows_of_a_small_projection_lie_as_written_by_hand(gguf2hf: ModuleType) -> None:
    rows = np.arange(8.0)[:, None]
    assert gguf2hf.unpermute(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_tensors_get_the_names_of_a_llama_model(gguf2hf: ModuleType) -> None:
    assert gguf2hf.hf_name("blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight"
    assert gguf2hf.hf_name("output.weight") == "lm_head.weight"


@pytest.mark.parametrize("name", ["rope_freqs.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate_exps.weight", "blk.x.y"])
def test_a_tensor_of_another_kind_of_model_is_refused(gguf2hf: ModuleType, name: str) -> None:
    with pytest.raises(ValueError, match="no plain llama model"):
        gguf2hf.hf_name(name)


@pytest.mark.parametrize("change", [{"general.architecture": "qwen2"}, {"llama.rope.scaling.type": "yarn"}])
def test_a_model_that_would_be_converted_wrongly_is_refused(gguf2hf: ModuleType, change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        gguf2hf.hf_config({**FACTS, **change}, 100, tied=True)


def test_the_configuration_is_the_one_transformers_reads(gguf2hf: ModuleType) -> None:
    config = gguf2hf.hf_config(FACTS, 100, tied=True)
    assert (config["num_key_value_heads"], config["vocab_size"], config["rope_theta"]) == (2, 100, 10000.0)
    assert config["architectures"] == ["LlamaForCausalLM"] and config["tie_word_embeddings"]
