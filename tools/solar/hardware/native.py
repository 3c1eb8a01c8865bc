"""Calibration kernels in C, compiled where there is a compiler: what a CPU does when nothing stands in its way.

Libraries leave some of a CPU unused (a copy that goes through the caches moves a third more than it says), and a roof
must not be lower than what other code could reach. Each kernel is a plain loop: independent multiply-adds in registers,
a sum, a copy and a fill that pass the caches by, special functions over an array that stays in the first-level cache.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_SECONDS_TO_COMPILE = 60

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__)
#define W 64
#elif defined(__AVX__)
#define W 32
#else
#define W 16
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define CHAINS 12  /* more than latency x ports of any FMA unit, fewer than the registers of AVX */
typedef float vf __attribute__((vector_size(W)));
typedef double vd __attribute__((vector_size(W)));

/* loops return what they computed, so that no compiler drops them; `amount` is how many operations `reps` makes */
#define FMA(NAME, V, T) \
double NAME(long reps) { V a[CHAINS], b, c; double s = 0; \
  for (int j = 0; j < CHAINS; j++) for (int i = 0; i < (int)(W / sizeof(T)); i++) a[j][i] = 1 + j * 1e-3; \
  for (int i = 0; i < (int)(W / sizeof(T)); i++) { b[i] = 0.999; c[i] = 1e-3; } \
  for (long r = 0; r < reps; r++) { _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) a[j] = a[j] * b + c; } \
  for (int j = 0; j < CHAINS; j++) s += a[j][0] + a[j][1]; return s; }
FMA(fma32, vf, float)
FMA(fma64, vd, double)
long amount_fma32(void) { return 2L * CHAINS * (W / 4); }
long amount_fma64(void) { return 2L * CHAINS * (W / 8); }

#if defined(__AVX512VNNI__)
double dot8(long reps) { __m512i a[CHAINS], b = _mm512_set1_epi8(3), c = _mm512_set1_epi8(1); double s = 0;
  for (int j = 0; j < CHAINS; j++) a[j] = _mm512_set1_epi32(j);
  for (long r = 0; r < reps; r++) { _Pragma("GCC unroll 12")
    for (int j = 0; j < CHAINS; j++) a[j] = _mm512_dpbusd_epi32(a[j], b, c); }
  for (int j = 0; j < CHAINS; j++) s += _mm512_reduce_add_epi32(a[j]); return s; }
long amount_dot8(void) { return 2L * CHAINS * 64; }
#else
double dot8(long reps) { return 0; }
long amount_dot8(void) { return 0; }
#endif

#if defined(__AVX512BF16__)
double dot16(long reps) { __m512 a[CHAINS]; double s = 0;
  __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3f), _mm512_set1_ps(1e-3f));
  for (int j = 0; j < CHAINS; j++) a[j] = _mm512_set1_ps(j);
  for (long r = 0; r < reps; r++) { _Pragma("GCC unroll 12")
    for (int j = 0; j < CHAINS; j++) a[j] = _mm512_dpbf16_ps(a[j], b, b); }
  for (int j = 0; j < CHAINS; j++) s += _mm512_reduce_add_ps(a[j]); return s; }
long amount_dot16(void) { return 2L * CHAINS * 32; }
#else
double dot16(long reps) { return 0; }
long amount_dot16(void) { return 0; }
#endif

double sum_read(const vf *x, long bytes) { vf a[8]; memset(a, 0, sizeof a); long n = bytes / W; double s = 0;
  for (long i = 0; i + 8 <= n; i += 8) { _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) a[j] += x[i + j]; }
  for (int j = 0; j < 8; j++) for (int i = 0; i < W / 4; i++) s += a[j][i]; return s; }

double stream_copy(vf *y, const vf *x, long bytes) { long n = bytes / W;
#if defined(__AVX512F__)
  for (long i = 0; i < n; i++) _mm512_stream_ps((float *)(y + i), _mm512_load_ps((const float *)(x + i)));
  _mm_sfence();
#elif defined(__AVX__)
  for (long i = 0; i < n; i++) _mm256_stream_ps((float *)(y + i), _mm256_load_ps((const float *)(x + i)));
  _mm_sfence();
#else
  memcpy(y, x, bytes);
#endif
  return y[0][0]; }

double stream_fill(vf *y, long bytes) { long n = bytes / W; vf v; for (int i = 0; i < W / 4; i++) v[i] = 1;
#if defined(__AVX512F__)
  for (long i = 0; i < n; i++) _mm512_stream_ps((float *)(y + i), (__m512)v);
  _mm_sfence();
#elif defined(__AVX__)
  for (long i = 0; i < n; i++) _mm256_stream_ps((float *)(y + i), (__m256)v);
  _mm_sfence();
#else
  for (long i = 0; i < n; i++) y[i] = v;
#endif
  return y[0][0]; }

#define CELLS 2048
#define SPECIAL(NAME, EXPRESSION) \
double NAME(long reps) { static __thread float x[CELLS] __attribute__((aligned(64))), \
    y[CELLS] __attribute__((aligned(64))); \
  for (int i = 0; i < CELLS; i++) x[i] = 1 + i * 1e-4f; \
  for (long r = 0; r < reps; r++) { x[r % CELLS] += 1e-6f; \
    for (int i = 0; i < CELLS; i++) { float v = x[i]; y[i] = EXPRESSION; } } \
  return y[reps % CELLS]; }
SPECIAL(special_reciprocal, 1.0f / v)
SPECIAL(special_rsqrt, 1.0f / sqrtf(v))
SPECIAL(special_exp, expf(v))
#if defined(__AVX512F__)
double special_estimate(long reps) { static __thread float x[CELLS] __attribute__((aligned(64)));
  __m512 s[8]; for (int j = 0; j < 8; j++) s[j] = _mm512_setzero_ps();
  for (int i = 0; i < CELLS; i++) x[i] = 1 + i * 1e-4f;
  for (long r = 0; r < reps; r++) for (int i = 0; i < CELLS; i += 128) { _Pragma("GCC unroll 8")
    for (int j = 0; j < 8; j++) s[j] = _mm512_add_ps(s[j], _mm512_rcp14_ps(_mm512_load_ps(x + i + 16 * j))); }
  double t = 0; for (int j = 0; j < 8; j++) t += _mm512_reduce_add_ps(s[j]); return t; }
#else
double special_estimate(long reps) { return special_rsqrt(reps); }
#endif
long amount_special(void) { return CELLS; }
"""

REGISTER_KERNELS = {  # kernel: (roof, function that says how many operations a repetition does)
    "C multiply-adds in registers, fp32": ("vector.fp32", "fma32", "amount_fma32"),
    "C multiply-adds in registers, fp64": ("vector.fp64", "fma64", "amount_fma64"),
    "C dot-product instructions, int8": ("tensor.int8", "dot8", "amount_dot8"),
    "C dot-product instructions, bf16": ("tensor.bf16", "dot16", "amount_dot16"),
    "C reciprocal": ("special", "special_reciprocal", "amount_special"),
    "C reciprocal square root": ("special", "special_rsqrt", "amount_special"),
    "C exp": ("special", "special_exp", "amount_special"),
    "C reciprocal estimate": ("special", "special_estimate", "amount_special"),
}


@dataclass(frozen=True)
class Native:
    """The compiled kernels, called on all threads at once (a call releases Python's lock)."""

    library: ctypes.CDLL
    pool: ThreadPoolExecutor
    threads: int

    def together(self, name: str, calls: Sequence[tuple[object, ...]]) -> None:
        function = getattr(self.library, name)
        for done in [self.pool.submit(function, *call) for call in calls]:
            done.result()

    def repeated(self, name: str, reps: int) -> Callable[[], None]:
        """A call that runs a register kernel `reps` times on each thread."""
        return lambda: self.together(name, [(ctypes.c_long(reps),)] * self.threads)

    def per_repetition(self, amount: str) -> int:
        """Operations of one repetition on one thread; 0 where this CPU has no such instruction."""
        return int(getattr(self.library, amount)())

    def over(self, name: str, buffers: list[int], size: int) -> Callable[[], None]:
        """A call of a memory kernel, each thread on its own part of the buffers (addresses of `size` bytes)."""
        part = size // self.threads // 4096 * 4096
        calls = [(*(ctypes.c_void_p(b + i * part) for b in buffers), ctypes.c_long(part)) for i in range(self.threads)]
        return lambda: self.together(name, calls)


def compiled(folder: Path, threads: int) -> Native | None:
    """The kernels compiled for this very CPU in `folder`; None where there is no C compiler or it fails."""
    compiler = next((c for c in (os.environ.get("CC", ""), "cc", "gcc", "clang") if c and shutil.which(c)), None)
    if compiler is None:
        return None
    source, library = folder / "kernels.c", folder / "kernels.so"
    source.write_text(SOURCE, encoding="utf-8")
    for flags in (["-march=native", "-mrecip=all"], ["-march=native"], ["-mcpu=native"], []):
        done = subprocess.run(
            [compiler, "-O3", "-ffast-math", *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"],
            capture_output=True, timeout=_SECONDS_TO_COMPILE, check=False)
        if done.returncode == 0:
            break
    else:
        return None
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError:
        return None
    for _, function, amount in REGISTER_KERNELS.values():
        getattr(loaded, function).restype = ctypes.c_double
        getattr(loaded, amount).restype = ctypes.c_long
    for function in ("sum_read", "stream_copy", "stream_fill"):
        getattr(loaded, function).restype = ctypes.c_double
    return Native(loaded, ThreadPoolExecutor(threads), threads)
