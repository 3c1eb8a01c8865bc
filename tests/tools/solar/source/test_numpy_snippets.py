"""Ordinary NumPy snippets: each is translated, and what the program gives is what NumPy gives."""

from collections.abc import Callable

import numpy as np
import pytest

from enlist.tools.solar.loops.interpreter import run
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.source.translate_numpy import translate_numpy
from enlist.tools.solar.source.trials import random_inputs

SNIPPETS = {
    "matmul": (
        "def f(a,b):\n"
        "    return np.matmul(a,b)\n",
        "a=float32[5,7];b=float32[7,3]"),
    "dot": (
        "def f(a,b):\n"
        "    return np.dot(a,b)\n",
        "a=float64[5];b=float64[5]"),
    "einsum bij": (
        "def f(a,b):\n"
        "    return np.einsum('bij,bjk->bik',a,b)\n",
        "a=float32[2,3,4];b=float32[2,4,5]"),
    "einsum trace": (
        "def f(a):\n"
        "    return np.einsum('ii->',a)\n",
        "a=float64[4,4]"),
    "einsum diag": (
        "def f(a):\n"
        "    return np.einsum('ii->i',a)\n",
        "a=float64[4,4]"),
    "outer": (
        "def f(a,b):\n"
        "    return np.outer(a,b)\n",
        "a=float64[4];b=float64[3]"),
    "broadcast": (
        "def f(a,b):\n"
        "    return a[:,None]*b[None,:]+1\n",
        "a=float64[4];b=float64[3]"),
    "slices": (
        "def f(a):\n"
        "    return a[1:-1,::2]-a[:-2,::2]\n",
        "a=float64[6,7]"),
    "negstep": (
        "def f(a):\n"
        "    return a[::-1]\n",
        "a=float64[6]"),
    "negstep2": (
        "def f(a):\n"
        "    return a[4:0:-2]*2\n",
        "a=float64[6]"),
    "sum axis": (
        "def f(a):\n"
        "    return a.sum(axis=(0,2))\n",
        "a=float64[3,4,5]"),
    "for range": (
        "def f(a):\n"
        "    c=np.zeros(5)\n"
        "    for i in range(5):\n"
        "        for j in range(i+1):\n"
        "            c[i]+=a[i,j]\n"
        "    return c\n",
        "a=float64[5,5]"),
    "where": (
        "def f(a):\n"
        "    return np.where(a>0,a,0.1*a)\n",
        "a=float64[4,3]"),
    "softmax": (
        "def f(a):\n"
        "    m=np.max(a,axis=1,keepdims=True)\n"
        "    e=np.exp(a-m)\n"
        "    return e/np.sum(e,axis=1,keepdims=True)\n",
        "a=float32[4,3]"),
    "transpose": (
        "def f(a):\n"
        "    return a.T@a\n",
        "a=float64[4,3]"),
    "inplace": (
        "def f(a,b):\n"
        "    a+=b\n"
        "    a*=2\n"
        "    return a\n",
        "a=float64[4];b=float64[4]"),
    "conv2d": (
        "def f(x,w):\n"
        "    c,h,v=x.shape\n"
        "    o,_,k,l=w.shape\n"
        "    y=np.zeros((o,h-k+1,v-l+1),dtype=x.dtype)\n"
        "    for n in range(o):\n"
        "        for i in range(h-k+1):\n"
        "            for j in range(v-l+1):\n"
        "                y[n,i,j]=np.sum(x[:,i:i+k,j:j+l]*w[n])\n"
        "    return y\n",
        "x=float64[2,6,5];w=float64[3,2,3,2]"),
    "conv1d": (
        "def f(x,w):\n"
        "    n=len(x)-len(w)+1\n"
        "    y=np.zeros(n)\n"
        "    for i in range(n):\n"
        "        for k in range(len(w)):\n"
        "            y[i]+=x[i+k]*w[k]\n"
        "    return y\n",
        "x=float64[9];w=float64[3]"),
    "stencil": (
        "def f(u):\n"
        "    v=u.copy()\n"
        "    v[1:-1,1:-1]=0.25*(u[:-2,1:-1]+u[2:,1:-1]+u[1:-1,:-2]+u[1:-1,2:])\n"
        "    return v\n",
        "u=float64[6,5]"),
    "jacobi": (
        "def f(u):\n"
        "    for t in range(3):\n"
        "        v=u.copy()\n"
        "        v[1:-1]=0.5*(u[:-2]+u[2:])\n"
        "        u=v\n"
        "    return u\n",
        "u=float64[7]"),
    "prefix": (
        "def f(x):\n"
        "    y=np.zeros_like(x)\n"
        "    s=0.0\n"
        "    for i in range(len(x)):\n"
        "        s=s+x[i]\n"
        "        y[i]=s\n"
        "    return y\n",
        "x=float64[7]"),
    "prefix2": (
        "def f(x):\n"
        "    y=np.empty_like(x)\n"
        "    y[0]=x[0]\n"
        "    for i in range(1,x.shape[0]):\n"
        "        y[i]=y[i-1]+x[i]\n"
        "    return y\n",
        "x=float64[7]"),
    "cumsum": (
        "def f(x):\n"
        "    return np.cumsum(x,axis=1)\n",
        "x=float64[3,7]"),
    "layernorm": (
        "def f(x,g):\n"
        "    m=x.mean(-1,keepdims=True)\n"
        "    v=((x-m)**2).mean(-1,keepdims=True)\n"
        "    return g*(x-m)/np.sqrt(v+1e-5)\n",
        "x=float32[3,7];g=float32[7]"),
    "rnn": (
        "def f(x,w,u):\n"
        "    h=np.zeros(4)\n"
        "    for t in range(x.shape[0]):\n"
        "        h=np.tanh(w@x[t]+u@h)\n"
        "    return h\n",
        "x=float64[5,3];w=float64[4,3];u=float64[4,4]"),
    "gather": (
        "def f(e,i):\n"
        "    return e[i]\n",
        "e=float64[5,3];i=int64[4]"),
    "maskassign": (
        "def f(a):\n"
        "    b=a.copy()\n"
        "    b[b<0]=0\n"
        "    return b\n",
        "a=float64[8]"),
    "norm": (
        "def f(a):\n"
        "    return np.linalg.norm(a)\n",
        "a=float64[8]"),
    "relu": (
        "def f(a):\n"
        "    return np.maximum(a,0)\n",
        "a=float32[3,4]"),
    "sigmoid": (
        "def f(a):\n"
        "    return 1/(1+np.exp(-a))\n",
        "a=float32[3,4]"),
    "gelu": (
        "def f(x):\n"
        "    return 0.5*x*(1+np.tanh(np.sqrt(2/np.pi)*(x+0.044715*x**3)))\n",
        "x=float32[3,4]"),
    "triangular solve": (
        "def f(l,b):\n"
        "    x=np.zeros(5)\n"
        "    for i in range(5):\n"
        "        s=b[i]\n"
        "        for j in range(i):\n"
        "            s-=l[i,j]*x[j]\n"
        "        x[i]=s/l[i,i]\n"
        "    return x\n",
        "l=float64[5,5];b=float64[5]"),
    "enumerate": (
        "def f(a):\n"
        "    s=0.0\n"
        "    for i,v in enumerate(a):\n"
        "        s+=v*i\n"
        "    return s\n",
        "a=float64[5]"),
    "zip": (
        "def f(a,b):\n"
        "    s=0.0\n"
        "    for u,v in zip(a,b):\n"
        "        s+=u*v\n"
        "    return s\n",
        "a=float64[5];b=float64[5]"),
    "iter": (
        "def f(a):\n"
        "    s=0.0\n"
        "    for v in a:\n"
        "        s+=v\n"
        "    return s\n",
        "a=float64[5]"),
    "clip": (
        "def f(a):\n"
        "    return np.clip(a,-0.5,0.5)\n",
        "a=float64[5]"),
    "std": (
        "def f(a):\n"
        "    return a.std(axis=0)\n",
        "a=float64[5,4]"),
    "ravel": (
        "def f(a):\n"
        "    return a.ravel()[::2]\n",
        "a=float64[4,3]"),
    "kron-like": (
        "def f(a,b):\n"
        "    return (a[:,None,:,None]*b[None,:,None,:]).reshape(6,8)\n",
        "a=float64[2,4];b=float64[3,2]"),
    "int overflow": (
        "def f(a):\n"
        "    return a*100\n",
        "a=int8[5]"),
    "int sum": (
        "def f(a):\n"
        "    return a.sum()\n",
        "a=int32[5]"),
    "intdiv": (
        "def f(a):\n"
        "    return a//2 + a%3\n",
        "a=int64[5]"),
    "floor div neg": (
        "def f(a):\n"
        "    return a/2\n",
        "a=int64[5]"),
    "swap": (
        "def f(u):\n"
        "    v=u.copy()\n"
        "    for t in range(3):\n"
        "        v[1:-1]=0.5*(u[:-2]+u[2:])\n"
        "        u,v=v,u\n"
        "    return u\n",
        "u=float64[7]"),
    "nested": (
        "def f(a):\n"
        "    o=np.zeros((3,4))\n"
        "    for t in range(3):\n"
        "        v=a[t]*1\n"
        "        for i in range(2):\n"
        "            v=v*2\n"
        "        o[t]=v\n"
        "    return o\n",
        "a=float64[3,4]"),
    "if rebinding": (
        "def f(a,b):\n"
        "    o=np.zeros((5,4))\n"
        "    for t in range(5):\n"
        "        v=a[t]\n"
        "        if t>2:\n"
        "            v=b[t]\n"
        "        o[t]=v\n"
        "    return o\n",
        "a=float64[5,4];b=float64[5,4]"),
    "if scalars": (
        "def f(a,b):\n"
        "    o=np.zeros(5)\n"
        "    for t in range(5):\n"
        "        v=a[t]\n"
        "        if t>2:\n"
        "            v=b[t]\n"
        "        o[t]=v\n"
        "    return o\n",
        "a=float64[5];b=float64[5]"),
    "inlined": (
        "def g(u,n):\n"
        "    for t in range(3):\n"
        "        u=u*2\n"
        "    return u\n"
        "def f(a):\n"
        "    return g(a,3)+a\n",
        "a=float64[3,4]"),
    "power iter": (
        "def f(a,x):\n"
        "    for t in range(4):\n"
        "        y=a@x\n"
        "        x=y/np.sqrt(np.sum(y*y))\n"
        "    return x\n",
        "a=float64[3,3];x=float64[3]"),
    "matpow": (
        "def f(a):\n"
        "    r=np.eye(3)\n"
        "    for t in range(4):\n"
        "        r=r@a\n"
        "    return r\n",
        "a=float64[3,3]"),
    "fib": (
        "def f(x):\n"
        "    a=x[0]\n"
        "    b=x[1]\n"
        "    for t in range(4):\n"
        "        a,b=b,a+b\n"
        "    return b\n",
        "x=float64[3]"),
    "acc": (
        "def f(a):\n"
        "    s=np.zeros(4)\n"
        "    for i in range(3):\n"
        "        s+=a[i]\n"
        "    return s\n",
        "a=float64[3,4]"),
    "max": (
        "def f(a):\n"
        "    m=-np.inf\n"
        "    for i in range(5):\n"
        "        m=max(m,a[i])\n"
        "    return m\n",
        "a=float64[5]"),
    "elif": (
        "def f(a):\n"
        "    o=np.zeros(6)\n"
        "    for i in range(6):\n"
        "        if i<2:\n"
        "            o[i]=a[i]\n"
        "        elif i<4:\n"
        "            o[i]=2*a[i]\n"
        "        else:\n"
        "            o[i]=3*a[i]\n"
        "    return o\n",
        "a=float64[6]"),
    "conditional return": (
        "def f(a):\n"
        "    if a.shape[0]>3:\n"
        "        return a*2\n"
        "    return a\n",
        "a=float64[4]"),
    "augment view": (
        "def f(a):\n"
        "    a[1:]+=a[:-1]\n"
        "    return a\n",
        "a=float64[6]"),
    "augassign div": (
        "def f(a):\n"
        "    a/=a.sum()\n"
        "    return a\n",
        "a=float64[6]"),
    "matvec loop": (
        "def f(a,x):\n"
        "    y=np.zeros(4)\n"
        "    for i in range(4):\n"
        "        y[i]=a[i]@x\n"
        "    return y\n",
        "a=float64[4,5];x=float64[5]"),
    "blocks": (
        "def f(a):\n"
        "    o=np.zeros((4,4))\n"
        "    for i in range(0,4,2):\n"
        "        for j in range(0,4,2):\n"
        "            o[i:i+2,j:j+2]=a[i:i+2,:]@a[:,j:j+2]\n"
        "    return o\n",
        "a=float64[4,4]"),
    "backwards": (
        "def f(a):\n"
        "    o=np.zeros(5)\n"
        "    o[4]=a[4]\n"
        "    for i in range(3,-1,-1):\n"
        "        o[i]=o[i+1]*0.5+a[i]\n"
        "    return o\n",
        "a=float64[5]"),
    "seidel for t": (
        "def f(u):\n"
        "    for t in range(2):\n"
        "        for i in range(1,6):\n"
        "            u[i]=0.5*(u[i-1]+u[i+1])\n"
        "    return u\n",
        "u=float64[7]"),
}


QUICK = ("swap", "if rebinding", "fib", "nested", "maskassign", "stencil", "zip", "inlined", "prefix", "outer")
"""Those in which a name stands for another array in each turn, and one of each other kind; the rest are slow."""


@pytest.mark.parametrize("name", [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SNIPPETS])
def test_an_ordinary_snippet_gives_what_numpy_gives(name: str) -> None:
    source, spec = SNIPPETS[name]
    text = f"import numpy as np\n{source}"
    program = translate_numpy(text, None, spec)
    inputs = random_inputs(program, "normal", 0)
    names: dict[str, Callable[..., object]] = {}
    exec(text, names)  # trusted text of this file
    right = names["f"](*(inputs[part.partition("=")[0]].copy() for part in spec.split(";")))
    (got,) = run(program, inputs).outputs.values()
    assert (got.shape, got.dtype) == (np.shape(right), np.asarray(right).dtype)
    np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
    lift(program)
