// Gaussian outputs of rows on few vectors and few features: vectors stay in shared memory, rows go straight from memory into registers.
//
// A warp takes 16 rows at a time. KS steps of 16 columns, `blocks` (even) blocks of 8 vectors, QB blocks of 8 outputs. `vectors` are the halves of Z as fragments of the
// tensor cores, [KS][blocks][32 lanes] of (hi, hi, lo, lo); `beta` the coefficients likewise, [blocks / 2][QB][32 lanes].
// The sums over G blocks of 8 vectors from block g on: as many independent chains of products.
template <int KS, int QB, int G>
DEV void small_group(const uint4 *sz, const float *szc, const uint4 *sb, int g, int blocks, const u32 (&ah)[KS][4], const u32 (&al)[KS][4], const float (&xs)[2],
                     const float (&xc)[2], int lane, float (&res)[QB][4]) {
  float acc[G][4];
  UNROLL
  for (int b = 0; b < G; b++) acc[b][0] = acc[b][1] = acc[b][2] = acc[b][3] = 0;
  UNROLL
  for (int s = 0; s < KS; s++) {
    uint4 z[G];
    UNROLL
    for (int b = 0; b < G; b++) z[b] = sz[(s * blocks + g + b) * 32 + lane];
    UNROLL
    for (int b = 0; b < G; b++) multiply(acc[b], al[s], z[b].x, z[b].y);
    UNROLL
    for (int b = 0; b < G; b++) multiply(acc[b], ah[s], z[b].z, z[b].w);
    UNROLL
    for (int b = 0; b < G; b++) multiply(acc[b], ah[s], z[b].x, z[b].y);
  }
  // What the tensor cores add is cut off, not rounded: no more than 8 G vectors are left to them at once.
  float part[QB][4];
  UNROLL
  for (int o = 0; o < QB; o++) part[o][0] = part[o][1] = part[o][2] = part[o][3] = 0;
  UNROLL
  for (int p = 0; p < G / 2; p++) {
    u32 kh[4], kl[4];
    UNROLL
    for (int b = 0; b < 2; b++) {
      float2 zv = *(const float2 *)(szc + (g + p * 2 + b) * 8 + 2 * (lane & 3));
      UNROLL
      for (int h = 0; h < 2; h++) {
        float e0 = exp2_of(least(fmaf(acc[p * 2 + b][h * 2], xs[h], xc[h] + zv.x), 10.f));
        float e1 = exp2_of(least(fmaf(acc[p * 2 + b][h * 2 + 1], xs[h], xc[h] + zv.y), 10.f));
        split(e0, e1, kh[b * 2 + h], kl[b * 2 + h]);
      }
    }
    UNROLL
    for (int o = 0; o < QB; o++) {
      uint4 w = sb[((g / 2 + p) * QB + o) * 32 + lane];
      multiply(part[o], kl, w.x, w.y);
      multiply(part[o], kh, w.z, w.w);
      multiply(part[o], kh, w.x, w.y);
    }
  }
  UNROLL
  for (int o = 0; o < QB; o++) UNROLL for (int i = 0; i < 4; i++) res[o][i] += part[o][i];
}

template <int KS, int QB, int G>
DEV void predict_small(const float *x, const float *centre, const float *factor, const uint4 *vectors, const float *squares, const uint4 *beta, const float *scales,
                       float *out, int n, int d, int blocks, int q, float c, float g2) {
  extern __shared__ __align__(1024) unsigned char shared[];
  uint4 *sz = (uint4 *)shared, *sb = sz + KS * blocks * 32;
  float *szc = (float *)(sb + blocks / 2 * QB * 32), *sce = szc + blocks * 8, *sfa = sce + 2 * KS * 16;
  for (int i = threadIdx.x; i < KS * blocks * 32; i += blockDim.x) sz[i] = vectors[i];
  for (int i = threadIdx.x; i < blocks / 2 * QB * 32; i += blockDim.x) sb[i] = beta[i];
  for (int i = threadIdx.x; i < blocks * 8; i += blockDim.x) szc[i] = squares[i];
  for (int i = threadIdx.x; i < KS * 16; i += blockDim.x) {
    sfa[i] = i < d ? factor[i] : 0;
    sce[2 * i] = i < d ? centre[2 * i] : 0, sce[2 * i + 1] = i < d ? centre[2 * i + 1] : 0;
  }
  __syncthreads();
  int lane = threadIdx.x & 31, warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (gridDim.x * blockDim.x) >> 5, r = lane >> 2, c2 = (lane & 3) * 2;
  bool pairs = (d & 1) == 0 && ((size_t)x & 7) == 0;
  float2 v[2][KS][2];
  auto fetch = [&](int t) {
    UNROLL
    for (int h = 0; h < 2; h++) {
      const float *p = x + (size_t)min(t * 16 + r + h * 8, n - 1) * d;
      UNROLL
      for (int s = 0; s < KS; s++) UNROLL for (int w = 0; w < 2; w++) {
        int k = s * 16 + w * 8 + c2;
        float2 u = make_float2(0, 0);
        if (pairs) {
          if (k < d) u = __ldg((const float2 *)(p + k));
        } else {
          if (k < d) u.x = p[k];
          if (k + 1 < d) u.y = p[k + 1];
        }
        v[h][s][w] = u;
      }
    }
  };
  int tiles = (n + 15) / 16;
  if (warp < tiles) fetch(warp);
  for (int t = warp; t < tiles; t += warps) {
    float big[2] = {0, 0}, sq[2] = {0, 0};
    UNROLL
    for (int h = 0; h < 2; h++) UNROLL for (int s = 0; s < KS; s++) UNROLL for (int w = 0; w < 2; w++) {
      int k = s * 16 + w * 8 + c2;
      float2 &u = v[h][s][w];
      float4 centre = *(const float4 *)(sce + 2 * k);
      float2 factor = *(const float2 *)(sfa + k);
      u.x = ((u.x - centre.x) - centre.y) * factor.x, u.y = ((u.y - centre.z) - centre.w) * factor.y;
      big[h] = fmaxf(big[h], fmaxf(fabsf(u.x), fabsf(u.y)));
      sq[h] = fmaf(u.x, u.x, fmaf(u.y, u.y, sq[h]));
    }
    float sc[2], xc[2], xs[2];
    UNROLL
    for (int h = 0; h < 2; h++) {
      for (int o = 1; o < 4; o <<= 1) {
        big[h] = fmaxf(big[h], __shfl_xor_sync(~0u, big[h], o));
        sq[h] += __shfl_xor_sync(~0u, sq[h], o);
      }
      sc[h] = scale_of(big[h]);
      float2 numbers = row_numbers(big[h], sq[h], sc[h], c);
      xc[h] = numbers.x + 10.f, xs[h] = g2 * numbers.y;
    }
    u32 ah[KS][4], al[KS][4];
    UNROLL
    for (int s = 0; s < KS; s++) UNROLL for (int h = 0; h < 2; h++) UNROLL for (int w = 0; w < 2; w++)
      split(v[h][s][w].x * sc[h], v[h][s][w].y * sc[h], ah[s][w * 2 + h], al[s][w * 2 + h]);
    if (t + warps < tiles) fetch(t + warps);
    float res[QB][4];
    UNROLL
    for (int o = 0; o < QB; o++) res[o][0] = res[o][1] = res[o][2] = res[o][3] = 0;
    int g = 0;
    for (; g + G <= blocks; g += G) small_group<KS, QB, G>(sz, szc, sb, g, blocks, ah, al, xs, xc, lane, res);
    if (g < blocks) small_group<KS, QB, 2>(sz, szc, sb, g, blocks, ah, al, xs, xc, lane, res);
    UNROLL
    for (int o = 0; o < QB; o++) UNROLL for (int i = 0; i < 4; i++) {
      int row = t * 16 + r + (i >> 1) * 8, k = o * 8 + c2 + (i & 1);
      if (row < n && k < q) out[(size_t)row * q + k] = res[o][i] * (1.f / 1024) * scales[k];
    }
  }
}
#define SMALL(KS, QB)                                                                                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                                                                              \
  small_##KS##_##QB(const float *x, const float *centre, const float *factor, const uint4 *vectors, const float *squares, const uint4 *beta, const float *scales,   \
                    float *out, int n, int d, int blocks, int q, float c, float g2) {                                                                               \
    predict_small<KS, QB, 4>(x, centre, factor, vectors, squares, beta, scales, out, n, d, blocks, q, c, g2);                                                       \
  }
SMALL(1, 1)
SMALL(1, 2)
SMALL(2, 1)
SMALL(2, 2)
SMALL(4, 1)
SMALL(4, 2)
