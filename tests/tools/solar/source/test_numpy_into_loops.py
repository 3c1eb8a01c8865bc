"""NumPy functions become programs with the same results, shapes and dtypes as NumPy's own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.interpreter import run
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.printer import show
from enlist.tools.solar.source.capture import capture_numpy
from enlist.tools.solar.source.translate_numpy import translate_numpy

CASES = {
    "mm": (
        "def f(a,b):\n"
        "    return a @ b\n",
        "a=float32[5,7];b=float32[7,3]"),
    "bmm": (
        "def f(a,b):\n"
        "    return np.matmul(a, b)\n",
        "a=float32[2,5,7];b=float32[2,7,3]"),
    "mv": (
        "def f(a,b):\n"
        "    return a.dot(b)\n",
        "a=float32[5,7];b=float32[7]"),
    "softmax": (
        "def f(x):\n"
        "    e = np.exp(x - x.max(axis=-1, keepdims=True))\n"
        "    return e / e.sum(axis=-1, keepdims=True)\n",
        "x=float32[5,7]"),
    "ln": (
        "def f(x,g,b):\n"
        "    m=np.mean(x,axis=-1,keepdims=True)\n"
        "    v=np.var(x,axis=-1,keepdims=True)\n"
        "    return (x-m)/np.sqrt(v+1e-5)*g+b\n",
        "x=float32[3,7];g=float32[7];b=float32[7]"),
    "attn": (
        "def softmax(s):\n"
        "    e=np.exp(s-s.max(-1,keepdims=True))\n"
        "    return e/e.sum(-1,keepdims=True)\n"
        "def f(q,k,v):\n"
        "    n=q.shape[-2]\n"
        "    s=q@k.swapaxes(-1,-2)/np.sqrt(q.shape[-1])\n"
        "    s=np.where(np.tril(np.ones((n,n)))>0,s,-np.inf)\n"
        "    return softmax(s)@v\n",
        "q=float32[2,5,4];k=float32[2,5,4];v=float32[2,5,4]"),
    "einsum": (
        'def f(a,b,c):\n'
        "    return np.einsum('ij,jk,kl->il',a,b,c)\n",
        "a=float64[3,4];b=float64[4,5];c=float64[5,2]"),
    "loops": (
        "def f(a,b):\n"
        "    n,k=a.shape\n"
        "    m=b.shape[1]\n"
        "    c=np.zeros((n,m))\n"
        "    for i in range(n):\n"
        "        for j in range(m):\n"
        "            s=0.0\n"
        "            for p in range(k):\n"
        "                s+=a[i,p]*b[p,j]\n"
        "            c[i,j]=s\n"
        "    return c\n",
        "a=float64[3,4];b=float64[4,5]"),
    "tri": (
        "def f(L,b):\n"
        "    n=L.shape[0]\n"
        "    x=np.zeros(n)\n"
        "    for i in range(n):\n"
        "        x[i]=(b[i]-L[i,:i]@x[:i])/L[i,i]\n"
        "    return x\n",
        "L=float64[6,6];b=float64[6]"),
    "rnn": (
        "def f(x,w,u):\n"
        "    h=np.zeros(4,dtype=np.float32)\n"
        "    ys=np.zeros((6,4),dtype=np.float32)\n"
        "    for t in range(6):\n"
        "        h=np.tanh(x[t]@w+h@u)\n"
        "        ys[t]=h\n"
        "    return ys,h\n",
        "x=float32[6,3];w=float32[3,4];u=float32[4,4]"),
    "stencil": (
        "def f(x):\n"
        "    y=x.copy()\n"
        "    y[1:-1,1:-1]=0.2*(x[1:-1,1:-1]+x[:-2,1:-1]+x[2:,1:-1]+x[1:-1,:-2]+x[1:-1,2:])\n"
        "    return y\n",
        "x=float64[7,9]"),
    "conv1d": (
        "def f(x,w):\n"
        "    n=x.shape[0]-w.shape[0]+1\n"
        "    y=np.zeros(n,dtype=x.dtype)\n"
        "    for k in range(w.shape[0]):\n"
        "        y+=w[k]*x[k:k+n]\n"
        "    return y\n",
        "x=float32[11];w=float32[3]"),
    "cumsum": (
        "def f(x):\n"
        "    return np.cumsum(x,axis=1)\n",
        "x=float64[3,7]"),
    "take": (
        "def f(e,ids):\n"
        "    return np.take(e,ids,axis=0)+e[ids]\n",
        "e=float32[9,3];ids=int64[5]"),
    "mha": (
        "def f(x,w):\n"
        "    B,T,C=x.shape\n"
        "    q=(x@w).reshape(B,T,2,C//2).transpose(0,2,1,3)\n"
        "    o=q@q.transpose(0,1,3,2)\n"
        "    return (o@q).transpose(0,2,1,3).reshape(B,T,C)\n",
        "x=float32[2,5,6];w=float32[6,6]"),
    "gelu": (
        "def f(x):\n"
        "    return 0.5*x*(1+np.tanh(np.sqrt(2/np.pi)*(x+0.044715*x**3)))\n",
        "x=float32[5,7]"),
    "concat": (
        "def f(a,b):\n"
        "    return np.concatenate([a,b],axis=1), np.stack([a,a])\n",
        "a=float32[5,7];b=float32[5,2]"),
    "inplace": (
        "def f(A,B,C):\n"
        "    C[:] = 1.5*A@B + C\n",
        "A=float64[3,4];B=float64[4,5];C=float64[3,5]"),
    "relu": (
        "def f(x):\n"
        "    return np.maximum(x,0), np.clip(x,-1,1), np.where(x>0,x,0.1*x)\n",
        "x=float32[5,7]"),
    "seidel": (
        "def f(A):\n"
        "    n=A.shape[0]\n"
        "    for t in range(3):\n"
        "        for i in range(1,n-1):\n"
        "            for j in range(1,n-1):\n"
        "                A[i,j]=(A[i-1,j]+A[i,j-1]+A[i,j]+A[i+1,j]+A[i,j+1])/5.0\n",
        "A=float64[6,6]"),
    "cholesky": (
        "def f(A):\n"
        "    n=A.shape[0]\n"
        "    for i in range(n):\n"
        "        for j in range(i):\n"
        "            for k in range(j):\n"
        "                A[i,j]-=A[i,k]*A[j,k]\n"
        "            A[i,j]/=A[j,j]\n"
        "        for k in range(i):\n"
        "            A[i,i]-=A[i,k]*A[i,k]\n"
        "        A[i,i]=np.sqrt(A[i,i])\n",
        "A=float64[6,6]"),
    "cov": (
        "def f(data):\n"
        "    m=data.mean(axis=0)\n"
        "    d=data-m\n"
        "    return d.T@d/(data.shape[0]-1.0)\n",
        "data=float64[9,4]"),
    "flip": (
        "def f(x):\n"
        "    return x[::-1], x[::2,1:], x[:,-1], x[None,:,0]\n",
        "x=float64[9,4]"),
    "pad": (
        "def f(x):\n"
        "    return np.pad(x,((1,1),(0,2))), np.roll(x,2,axis=0)\n",
        "x=float32[5,7]"),
    "causal": (
        "def f(q,k):\n"
        "    n,d=q.shape\n"
        "    s=np.zeros((n,n))\n"
        "    for i in range(n):\n"
        "        for j in range(i+1):\n"
        "            s[i,j]=q[i]@k[j]\n"
        "    return s\n",
        "q=float64[6,4];k=float64[6,4]"),
    "sumall": (
        "def f(x):\n"
        "    return np.sum(x*x), x.std(axis=0), np.linalg.norm(x,axis=1)\n",
        "x=float64[9,4]"),
    "scalarif": (
        "def f(x,n=3):\n"
        "    y=np.zeros_like(x)\n"
        "    for i in range(x.shape[0]):\n"
        "        if i<2:\n"
        "            y[i]=x[i]\n"
        "        else:\n"
        "            y[i]=x[i]*2\n"
        "    return y\n",
        "x=float64[5]"),
    "durbin": (
        "def f(r):\n"
        "    n=r.shape[0]\n"
        "    y=np.zeros(n)\n"
        "    alpha=-r[0]\n"
        "    beta=1.0\n"
        "    y[0]=-r[0]\n"
        "    for k in range(1,n):\n"
        "        beta*=1.0-alpha*alpha\n"
        "        alpha=-(r[k]+np.dot(np.flip(r[:k]),y[:k]))/beta\n"
        "        y[:k]+=alpha*np.flip(y[:k])\n"
        "        y[k]=alpha\n"
        "    return y\n",
        "r=float64[5]"),
    "gqa": (
        "def f(q,k):\n"
        "    G=q.shape[0]//k.shape[0]\n"
        "    out=np.zeros((q.shape[0],q.shape[1],k.shape[1]),dtype=q.dtype)\n"
        "    for h in range(q.shape[0]):\n"
        "        out[h]=q[h]@k[h//G].T\n"
        "    return out\n",
        "q=float32[4,3,5];k=float32[2,6,5]"),
    "int8": (
        "def f(a,b):\n"
        "    return a.astype(np.int32)@b.astype(np.int32)\n",
        "a=int8[4,3];b=int8[3,5]"),
    "f16": (
        "def f(a,b):\n"
        "    return (a@b)*2+1\n",
        "a=float16[4,3];b=float16[3,5]"),
}


def inputs_of(text: str, spec: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    made = {}
    for tensor in translate_numpy(text, "f", spec).with_role("input"):
        shape = tuple(int(e.value) for e in tensor.shape)  # type: ignore[union-attr]
        made[tensor.name] = (rng.integers(0, 5, shape) if "int" in tensor.dtype
                             else rng.standard_normal(shape)).astype(tensor.dtype)
        if len(shape) == 2 and shape[0] == shape[1]:  # well-conditioned, for factorisations and solves
            made[tensor.name] = made[tensor.name] @ made[tensor.name].T + 4 * np.eye(shape[0], dtype=tensor.dtype)
    return made


@pytest.mark.parametrize("case", CASES)
def test_a_translation_gives_what_numpy_gives(case: str) -> None:
    source, spec = CASES[case]
    text = "import numpy as np\n" + source
    program = translate_numpy(text, "f", spec)
    assert parse(show(program)) == program
    inputs = inputs_of(text, spec)
    names: dict[str, Callable[..., object]] = {}
    exec(text, names)  # trusted text of this file
    given = {n: a.copy() for n, a in inputs.items()}
    right = names["f"](*given.values())
    if right is None:
        right = [a for n, a in given.items() if not np.array_equal(a, inputs[n])]
    wanted = right if isinstance(right, tuple | list) else (right,)
    got = run(program, inputs).outputs
    for one, other in zip(got.values(), wanted, strict=True):
        assert (one.shape, one.dtype) == (np.shape(other), np.asarray(other).dtype)
        half = one.dtype == np.float16
        np.testing.assert_allclose(one, other, rtol=1e-2 if half else 1e-4, atol=1e-2 if half else 1e-5)
    lift(program)


@pytest.mark.parametrize(("text", "flop"), [
    ('def f(a: "float32[64, 32]", b: "float32[32, 16]"):\n    return a @ b\n', 2 * 64 * 32 * 16),
    ("import numpy as np\nN = 8\ndef f(a, b):\n    return np.dot(a, b)\n\ndef get_inputs():\n    return "
     "[np.random.rand(N, 4).astype(np.float32), np.ones((4, N), dtype=np.float32)]\n", 2 * 8 * 4 * 8),
    ("import numpy as np\ndef f(q, k):\n    s = np.zeros((9, 9))\n"
     "    for i in range(9):\n"
     "        for j in range(i + 1):\n            s[i, j] = q[i] @ k[j]\n    return s\n\n"
     "def get_inputs():\n    return [np.zeros((9, 4)), np.zeros((9, 4))]\n", 2 * 45 * 4)])
def test_shapes_come_from_annotations_and_from_get_inputs(tmp_path: Path, text: str, flop: int) -> None:
    (tmp_path / "f.py").write_text(text)
    graph = capture_numpy(tmp_path / "f.py", "f")
    assert sum(int(n.attributes["matrix_flop"]) for n in graph.nodes) == flop  # type: ignore[arg-type]


def test_nothing_of_the_file_runs(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("import os\nos.abort()\n\ndef f(a):\n    return a + 1\n")
    assert capture_numpy(tmp_path / "f.py", inputs="a=float32[3]").nodes


@pytest.mark.parametrize(("body", "code", "what"), [
    ("return np.fft.fft(x)", "unsupported", "np.fft.fft"), ("return x[x > 0]", "unsupported|bad_input", "line 3|index"),
    ("while True:\n        x = x + 1\n    return x", "unsupported", "while True"),
    ("if x[0] > 0:\n        return x\n    return -x", "unsupported", "a condition on data"),
    ("return x @ np.zeros((9, 9))", "bad_input", "matrix product"), ("return open('f')", "unsupported", "open"),
    ("return f(x)", "unsupported", "recursion"), ("pass", "bad_input", "returns nothing"),
    ("return x + np.ones(4)", "bad_input", "do not broadcast"), ("return x.sum(axis=4)", "bad_input", "no axis")])
def test_what_the_subset_has_not_is_refused_with_its_line(body: str, code: str, what: str) -> None:
    with pytest.raises(EnlistError, match=what) as caught:
        program = translate_numpy(f"import numpy as np\ndef f(x):\n    {body}\n", "f", "x=float64[5]")
        lift(program)
    assert caught.value.code in code


def test_an_argument_without_a_shape_is_asked_for() -> None:
    with pytest.raises(EnlistError, match=r"shape of a, b.*--input"):
        translate_numpy("def f(a, b):\n    return a @ b\n")
