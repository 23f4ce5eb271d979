// Numbers as two halves: an fp32 number times a power of two is hi + lo, two fp16 numbers, 22 bits. A product of numbers is hi.hi + hi.lo + lo.hi, three products of the
// tensor cores whose sums are fp32. No header is needed, so that NVRTC compiles these files as they are, one after the other.
typedef unsigned int u32;
typedef unsigned short u16;
#define DEV __device__ __forceinline__
#define UNROLL _Pragma("unroll")

// Two fp32 numbers as a pair of fp16, the first in the low half.
DEV u32 pack(float a, float b) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
DEV float low_half(u32 h) {
  float f;
  asm("{.reg .f16 a,b; mov.b32 {a,b}, %1; cvt.f32.f16 %0, a;}" : "=f"(f) : "r"(h));
  return f;
}
DEV float high_half(u32 h) {
  float f;
  asm("{.reg .f16 a,b; mov.b32 {a,b}, %1; cvt.f32.f16 %0, b;}" : "=f"(f) : "r"(h));
  return f;
}
DEV void split(float a, float b, u32 &hi, u32 &lo) {
  hi = pack(a, b);
  lo = pack(a - low_half(hi), b - high_half(hi));
}
DEV float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// The smaller and the larger of two; not a number where one is not.
DEV float least(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DEV float most(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DEV u32 shared_address(const void *p) {
  u32 a;
  asm("{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(a) : "l"(p));
  return a;
}
DEV void copy16(u32 to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory"); }
DEV void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEV void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
DEV void load_matrices(u32 (&r)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
// d += a b for 16 x 16 and 16 x 8 halves.
DEV void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// The power of two that brings the largest number into [2^7, 2^8).
DEV float scale_of(float largest) {
  u32 e = (__float_as_uint(largest) >> 23) & 255;
  e = min(max(e, 8u), 250u);
  return __uint_as_float((u32)(127 + 7 + 127 - e) << 23);
}
DEV float warp_sum(float v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
DEV float warp_max(float v) {
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}
DEV float centred(float v, const float *centre, int k) { return (v - centre[k]) - centre[k + 1]; }
DEV float centred(double v, const float *centre, int k) { return (float)((v - (double)centre[k]) - (double)centre[k + 1]); }

// What a row counts beside its halves: c |row|^2 and 1 / scale. A row whose square overflows is far from every vector; one with an infinite number is none.
DEV float2 row_numbers(float largest, float squares, float scale, float c) {
  const float infinity = __int_as_float(0x7f800000);
  return make_float2(largest < infinity ? c * squares : infinity - infinity, squares < infinity ? 1.f / scale : 0.f);
}

// Rows (x - centre) * factor as halves, padded to `padded` columns with zeros. `centre` has a high and a low part for each feature, one after the other.
// aux[i] = (c |row|^2, 1 / scale). A warp takes a row.
template <class T>
DEV void split_rows(const T *x, const float *centre, const float *factor, u16 *hi, u16 *lo, float2 *aux, int rows, int d, int padded, float c) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  const T *r = x + (size_t)row * d;
  float big = 0, squares = 0;
  for (int k = lane; k < d; k += 32) {
    float v = centred(r[k], centre, 2 * k) * factor[k];
    big = fmaxf(big, fabsf(v));
    squares += v * v;
  }
  big = warp_max(big);
  squares = warp_sum(squares);
  float s = scale_of(big);
  u32 *h = (u32 *)(hi + (size_t)row * padded), *l = (u32 *)(lo + (size_t)row * padded);
  for (int k = 2 * lane; k < padded; k += 64) {
    float a = k < d ? centred(r[k], centre, 2 * k) * factor[k] * s : 0, b = k + 1 < d ? centred(r[k + 1], centre, 2 * k + 2) * factor[k + 1] * s : 0;
    split(a, b, h[k / 2], l[k / 2]);
  }
  if (lane == 0) aux[row] = row_numbers(big, squares, s, c);
}
extern "C" __global__ void split_f32(const float *x, const float *centre, const float *factor, u16 *hi, u16 *lo, float2 *aux, int rows, int d, int padded, float c) {
  split_rows(x, centre, factor, hi, lo, aux, rows, d, padded, c);
}
extern "C" __global__ void split_f64(const double *x, const float *centre, const float *factor, u16 *hi, u16 *lo, float2 *aux, int rows, int d, int padded, float c) {
  split_rows(x, centre, factor, hi, lo, aux, rows, d, padded, c);
}
