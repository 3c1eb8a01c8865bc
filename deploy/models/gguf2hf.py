"""Turn a GGUF file of the llama architecture into a Hugging Face folder, which is what vLLM loads.

The weights become bfloat16; they are as good as the quantisation they came from, no better. llama.cpp stores the rows
of the query and key projections in pairs (x0, x1), as its rotary embedding turns them; Hugging Face turns the two
halves of a head, so those rows are put back. Architectures other than llama and scaled rotary embeddings are refused.
"""

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENDS = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
        "output.weight": "lm_head.weight"}
PARTS = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


def unpermute(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of a projection [heads * size, ...] from rotary pairs (x0, x1) to rotary halves (x0, x[size / 2])."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def hf_name(name: str) -> str:
    """The Hugging Face name of a GGUF tensor.

    Raises:
        ValueError: a tensor that a plain llama model does not have.
    """
    if name in ENDS:
        return ENDS[name]
    block, _, rest = name.partition(".")
    layer, _, rest = rest.partition(".")
    part, _, kind = rest.partition(".")
    if block != "blk" or not layer.isdigit() or part not in PARTS or kind != "weight":
        raise ValueError(f"no plain llama model has the tensor {name!r}; use vLLM with the model's own folder")
    return f"model.layers.{layer}.{PARTS[part]}.{kind}"


def hf_config(facts: dict[str, Any], vocabulary: int, tied: bool) -> dict[str, Any]:
    """config.json from the facts of a GGUF header.

    Raises:
        ValueError: another architecture, or a scaled rotary embedding.
    """
    if facts.get("general.architecture") != "llama":
        raise ValueError(f"architecture given: {facts.get('general.architecture')!r}; allowed: llama")
    if facts.get("llama.rope.scaling.type", "none") != "none":
        raise ValueError(f"rotary scaling given: {facts['llama.rope.scaling.type']!r}; allowed: none")
    heads = facts["llama.attention.head_count"]
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "torch_dtype": "bfloat16",
        "hidden_size": facts["llama.embedding_length"], "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"], "num_attention_heads": heads,
        "num_key_value_heads": facts.get("llama.attention.head_count_kv", heads),
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": facts.get("llama.rope.freq_base", 10000.0), "vocab_size": vocabulary, "tie_word_embeddings": tied,
        "bos_token_id": facts.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": facts.get("tokenizer.ggml.eos_token_id")}


def convert(source: Path, target: Path) -> None:
    """Write the folder `target`, all of it or nothing; a folder that is there already is replaced."""
    import torch
    from gguf import GGUFReader, dequantize
    from safetensors.torch import save_file
    from transformers import AutoTokenizer

    reader = GGUFReader(source)
    bulky = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type", "tokenizer.ggml.scores")
    facts = {key: field.contents() for key, field in reader.fields.items() if key not in bulky}
    weights = {}
    for tensor in reader.tensors:
        rows = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = hf_name(tensor.name)
        if ".q_proj." in name:
            rows = unpermute(rows, facts["llama.attention.head_count"])
        elif ".k_proj." in name:
            rows = unpermute(rows, facts.get("llama.attention.head_count_kv", facts["llama.attention.head_count"]))
        weights[name] = torch.from_numpy(np.ascontiguousarray(rows)).to(torch.bfloat16)
    config = hf_config(facts, len(weights["model.embed_tokens.weight"]), "lm_head.weight" not in weights)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.chat_template = facts.get("tokenizer.chat_template")

    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        tokenizer.save_pretrained(scratch)
        save_file(weights, scratch / "model.safetensors", metadata={"format": "pt"})
        (scratch / "config.json").write_text(json.dumps(config, indent=1))
        (scratch / "generation_config.json").write_text(json.dumps({"eos_token_id": config["eos_token_id"]}))
        if target.exists():
            shutil.rmtree(target)
        os.replace(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a GGUF file")
    parser.add_argument("target", type=Path, help="the folder to write")
    given = parser.parse_args()
    try:
        convert(given.source, given.target)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
