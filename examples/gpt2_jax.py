"""GPT-2 small in plain JAX: one scan over the twelve blocks, whose weights are stacked, as is usual in JAX.

The same shapes as in `gpt2.py`, in bfloat16. `loss` is the next-token loss, `step` one step of gradient descent.
"""

import jax
import jax.numpy as jnp

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS = 50257, 1024, 768, 12, 12
Params = dict[str, jax.Array]


def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale


def block(x: jax.Array, w: Params) -> tuple[jax.Array, None]:
    batch, length, _ = x.shape
    query, key, value = (t.reshape(batch, length, HEADS, WIDTH // HEADS)
                         for t in jnp.split(norm(x, w["norm_1"]) @ w["project_in"], 3, axis=-1))
    mixed = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    x = x + mixed.reshape(batch, length, WIDTH) @ w["project_out"]
    return x + jax.nn.gelu(norm(x, w["norm_2"]) @ w["expand"]) @ w["contract"], None


def forward(params: Params, tokens: jax.Array) -> jax.Array:
    """Logits of every position."""
    x = params["embedding"][tokens] + params["positions"][: tokens.shape[1]]
    blocks = {name: w for name, w in params.items() if name not in ("embedding", "positions")}
    x, _ = jax.lax.scan(block, x, blocks)
    return x @ params["embedding"].T


def loss(params: Params, tokens: jax.Array) -> jax.Array:
    logits = jax.nn.log_softmax(forward(params, tokens)[:, :-1].astype(jnp.float32))
    return -jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1).mean()


def step(params: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
    """Gradient descent: everything that one training step does is in this function."""
    value, slopes = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, slopes), value


def get_inputs() -> list[object]:
    """Shapes only: nothing is allocated."""
    shapes = {"embedding": (VOCABULARY, WIDTH), "positions": (CONTEXT, WIDTH), "norm_1": (LAYERS, WIDTH),
              "norm_2": (LAYERS, WIDTH), "project_in": (LAYERS, WIDTH, 3 * WIDTH),
              "project_out": (LAYERS, WIDTH, WIDTH), "expand": (LAYERS, WIDTH, 4 * WIDTH),
              "contract": (LAYERS, 4 * WIDTH, WIDTH)}
    params = {name: jax.ShapeDtypeStruct(shape, jnp.bfloat16) for name, shape in shapes.items()}
    return [params, jax.ShapeDtypeStruct((8, CONTEXT), jnp.int32)]
