// Outputs of rows on any number of vectors and features: out[i][k] = sum_j beta[j][k] k(x_i, z_j).
//
// A block takes 128 rows; its 8 warps, 2 x 4, have 64 x 32 each of a tile of 128 rows x 128 vectors. Columns come in chunks of 32 through shared memory, STAGES of
// them in flight; where the rows of a block fit they stay there. The kernel values of a tile are split into halves again and multiplied with the coefficients by
// the tensor cores. Pieces of 16 bytes are exchanged by xor, so that ldmatrix has no conflicts of banks.
enum { TILE = 128, CHUNK = 32, STAGES = 3, SLOT = 2 * TILE * CHUNK * 2, HALF_SLOT = SLOT / 2, PROMOTE = 2 };
enum { GAUSSIAN, EXPONENTIAL, MATERN32, MATERN52, INVERSE_MULTIQUADRIC, POLYNOMIAL, SIGMOID };

// A kernel as a function of u, which is scaled: the squared distance times gamma (or its square), or gamma x.z.
__device__ __noinline__ float kernel_value(int kind, float u, float p0, float p1) {
  const float log2e = 1.4426950408889634f;
  if (kind == EXPONENTIAL) return exp2_of(-log2e * sqrtf(u));
  if (kind == MATERN32) { float r = sqrtf(u); return (1 + r) * exp2_of(-log2e * r); }
  if (kind == MATERN52) { float r = sqrtf(u); return (1 + r + r * r * (1.f / 3)) * exp2_of(-log2e * r); }
  if (kind == INVERSE_MULTIQUADRIC) return p0 == -0.5f ? rsqrtf(1 + u) : powf(1 + u, p0);
  if (kind == POLYNOMIAL) {
    float base = u + p1, power = 1;
    for (int e = (int)p0; e; e >>= 1, base *= base) if (e & 1) power *= base;
    return power;
  }
  return tanhf(u + p1);
}

// |x - z|^2 times g, term by term: where the sum of products has lost its digits.
__device__ __noinline__ float near_value(const u16 *xh, const u16 *xl, float xs, const u16 *zh, const u16 *zl, float zs, int padded, float g) {
  float sum = 0;
  for (int k = 0; k < padded; k += 2) {
    u32 a = *(const u32 *)(xh + k), b = *(const u32 *)(xl + k), c = *(const u32 *)(zh + k), e = *(const u32 *)(zl + k);
    float v = (low_half(a) + low_half(b)) * xs - (low_half(c) + low_half(e)) * zs, w = (high_half(a) + high_half(b)) * xs - (high_half(c) + high_half(e)) * zs;
    sum = fmaf(v, v, fmaf(w, w, sum));
  }
  return sum * g;
}

template <int QB, bool OTHER, bool WIDE>
DEV void predict(const u16 *xh, const u16 *xl, const float2 *xa, const u16 *zh, const u16 *zl, const float2 *za, const uint4 *beta, const float *scales, float *out,
                 int n, int m, int padded, int resident, int q, int width, float g2, int kind, float p0, float p1) {
  extern __shared__ __align__(1024) unsigned char shared[];
  int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, wm = warp & 1, wn = warp >> 1;
  int row0 = blockIdx.x * TILE, chunks = padded / CHUNK, tiles = (m + TILE - 1) / TILE, steps = tiles * chunks;
  u32 rows_at = shared_address(shared), vectors_at = rows_at + (resident ? chunks : STAGES) * SLOT;
  // A thread copies two pieces of 16 bytes of each half: rows r and r + 64 of a tile.
  int r = tid >> 2, load_tile = 0, load_chunk = 0, load_slot = 0;
  u32 piece = r * 64 + (((tid & 3) ^ ((r >> 1) & 3)) << 4);
  size_t z_from = (size_t)r * padded + (tid & 3) * 8, half_tile = (size_t)64 * padded;
  size_t x_from = (size_t)min(row0 + r, n - 1) * padded + (tid & 3) * 8, x_half = (size_t)min(row0 + r + 64, n - 1) * padded + (tid & 3) * 8 - x_from;
  auto copy = [&](u32 at, const u16 *high, const u16 *low, size_t from, size_t half) {
    copy16(at, high + from);
    copy16(at + HALF_SLOT, low + from);
    copy16(at + 64 * 64, high + from + half);
    copy16(at + HALF_SLOT + 64 * 64, low + from + half);
  };
  auto load = [&] {
    if (load_tile < tiles) {
      copy(vectors_at + load_slot * SLOT + piece, zh, zl, z_from, half_tile);
      if (!resident || load_tile == 0) copy(rows_at + (resident ? load_chunk : load_slot) * SLOT + piece, xh, xl, x_from + load_chunk * CHUNK, x_half);
      z_from += CHUNK;
      if (++load_chunk == chunks) load_chunk = 0, load_tile++, z_from += (size_t)(TILE - 1) * padded;
      if (++load_slot == STAGES) load_slot = 0;
    }
    copies_commit();
  };
  for (int s = 0; s < STAGES - 1; s++) load();
  float xc[4][2], xs[4][2], bound[4][2], res[4][QB][4];
  UNROLL
  for (int a = 0; a < 4; a++) {
    UNROLL
    for (int h = 0; h < 2; h++) {
      float2 v = xa[min(row0 + wm * 64 + a * 16 + h * 8 + (lane >> 2), n - 1)];
      xc[a][h] = v.x, xs[a][h] = g2 * v.y;
      if (OTHER) {
        // The power of two that keeps every kernel value of a row in the range of fp16.
        bound[a][h] = 1024;
        if (kind == POLYNOMIAL) {
          float largest = kernel_value(POLYNOMIAL, sqrtf(v.x) * scales[width], p0, fabsf(p1));
          bound[a][h] = v.x < 1e37f ? 64 * scale_of(fminf(fmaxf(largest, 1e-30f), 1e30f)) : v.x - v.x, xc[a][h] = 0;
        }
      }
    }
    UNROLL
    for (int o = 0; o < QB; o++) res[a][o][0] = res[a][o][1] = res[a][o][2] = res[a][o][3] = 0;
  }
  float acc[4][4][4], total[WIDE ? 4 : 1][4][4];
  // Where the pieces of a lane are in a chunk; those of the next 16 columns have another bit.
  int ar = wm * 64 + (lane & 15), br = wn * 32 + (lane & 7) + ((lane >> 4) << 3);
  u32 a_piece = ar * 64 + (((lane >> 4) ^ ((ar >> 1) & 3)) << 4), b_piece = br * 64 + ((((lane >> 3) & 1) ^ ((br >> 1) & 3)) << 4);
  int tile = 0, chunk = 0, slot = 0;
  for (int s = 0; s < steps; s++) {
    if (chunk == 0) {
      UNROLL
      for (int a = 0; a < 4; a++) UNROLL for (int b = 0; b < 4; b++) UNROLL for (int c = 0; c < 4; c++) {
        acc[a][b][c] = 0;
        if (WIDE) total[a][b][c] = 0;
      }
    }
    copies_wait<STAGES - 2>();
    __syncthreads();
    load();
    u32 z_at = vectors_at + slot * SLOT, x_at = rows_at + (resident ? chunk : slot) * SLOT;
    UNROLL
    for (int ks = 0; ks < 2; ks++) {
      u32 ah[4][4], al[4][4], bh[2][4], bl[2][4], xp = x_at + (a_piece ^ (ks * 32)), zp = z_at + (b_piece ^ (ks * 32));
      UNROLL
      for (int a = 0; a < 4; a++) {
        load_matrices(ah[a], xp + a * 16 * 64);
        load_matrices(al[a], xp + a * 16 * 64 + HALF_SLOT);
      }
      UNROLL
      for (int b = 0; b < 2; b++) {
        load_matrices(bh[b], zp + b * 16 * 64);
        load_matrices(bl[b], zp + b * 16 * 64 + HALF_SLOT);
      }
      UNROLL
      for (int a = 0; a < 4; a++) UNROLL for (int b = 0; b < 4; b++) multiply(acc[a][b], al[a], bh[b / 2][b % 2 * 2], bh[b / 2][b % 2 * 2 + 1]);
      UNROLL
      for (int a = 0; a < 4; a++) UNROLL for (int b = 0; b < 4; b++) multiply(acc[a][b], ah[a], bl[b / 2][b % 2 * 2], bl[b / 2][b % 2 * 2 + 1]);
      UNROLL
      for (int a = 0; a < 4; a++) UNROLL for (int b = 0; b < 4; b++) multiply(acc[a][b], ah[a], bh[b / 2][b % 2 * 2], bh[b / 2][b % 2 * 2 + 1]);
    }
    bool last = chunk == chunks - 1;
    if (WIDE && (last || chunk % PROMOTE == PROMOTE - 1)) {
      UNROLL
      for (int a = 0; a < 4; a++) UNROLL for (int b = 0; b < 4; b++) UNROLL for (int c = 0; c < 4; c++) total[a][b][c] += acc[a][b][c], acc[a][b][c] = 0;
    }
    if (last) {
      UNROLL
      for (int p = 0; p < 2; p++) {
        int j0 = tile * TILE + wn * 32 + p * 16 + 2 * (lane & 3);
        float4 zv[2] = {__ldg((const float4 *)(za + j0)), __ldg((const float4 *)(za + j0 + 8))};
        uint4 w[QB];
        UNROLL
        for (int o = 0; o < QB; o++) w[o] = __ldg(beta + ((size_t)(tile * 8 + wn * 2 + p) * QB + o) * 32 + lane);
        UNROLL
        for (int a = 0; a < 4; a++) {
          u32 kh[4], kl[4];
          UNROLL
          for (int b = 0; b < 2; b++) UNROLL for (int h = 0; h < 2; h++) {
            float e[2];
            UNROLL
            for (int c = 0; c < 2; c++) {
              float sum = WIDE ? total[a][p * 2 + b][h * 2 + c] : acc[a][p * 2 + b][h * 2 + c], zc = c ? zv[b].z : zv[b].x, zs = c ? zv[b].w : zv[b].y;
              if (!OTHER) {
                e[c] = exp2_of(least(fmaf(sum, xs[a][h] * zs, (xc[a][h] + 10.f) + zc), 10.f));
              } else {
                float u = fmaf(sum, xs[a][h] * zs, xc[a][h] + zc);
                if (kind < POLYNOMIAL) u = most(u, 0.f);
                if (kind == EXPONENTIAL && u < 0.015625f * (xc[a][h] + zc)) {
                  size_t i = (size_t)min(row0 + wm * 64 + a * 16 + h * 8 + (lane >> 2), n - 1) * padded, j = (size_t)(j0 + b * 8 + c) * padded;
                  u = near_value(xh + i, xl + i, xs[a][h] / g2, zh + j, zl + j, zs, padded, -0.5f * g2);
                }
                e[c] = kernel_value(kind, u, p0, p1) * bound[a][h];
              }
            }
            split(e[0], e[1], kh[b * 2 + h], kl[b * 2 + h]);
          }
          UNROLL
          for (int o = 0; o < QB; o++) {
            // What the tensor cores add is cut off, not rounded: no more than 16 vectors are left to them at once.
            float part[4] = {0, 0, 0, 0};
            multiply(part, kl, w[o].x, w[o].y);
            multiply(part, kh, w[o].z, w[o].w);
            multiply(part, kh, w[o].x, w[o].y);
            UNROLL
            for (int i = 0; i < 4; i++) res[a][o][i] += part[i];
          }
        }
      }
    }
    if (++chunk == chunks) chunk = 0, tile++;
    if (++slot == STAGES) slot = 0;
  }
  copies_wait<0>();
  __syncthreads();
  // The four warps of a row leave their parts in shared memory, which are added in their order.
  float *parts = (float *)shared;
  UNROLL
  for (int a = 0; a < 4; a++) UNROLL for (int o = 0; o < QB; o++) UNROLL for (int i = 0; i < 4; i++) {
    int r = wm * 64 + a * 16 + (i >> 1) * 8 + (lane >> 2), k = o * 8 + 2 * (lane & 3) + (i & 1);
    parts[(wn * TILE + r) * (QB * 8) + k] = OTHER ? res[a][o][i] / bound[a][i >> 1] : res[a][o][i] * (1.f / 1024);
  }
  __syncthreads();
  for (int i = tid; i < TILE * QB * 8; i += 256) {
    int r = i / (QB * 8), k = i % (QB * 8);
    if (row0 + r < n && k < width) {
      const int all = TILE * QB * 8;
      out[(size_t)(row0 + r) * q + k] = ((parts[i] + parts[all + i]) + (parts[2 * all + i] + parts[3 * all + i])) * scales[k];
    }
  }
}
// Adds the offsets of outputs.
extern "C" __global__ void add_offsets(float *out, const float *offsets, size_t count, int q) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += offsets[i % q];
}

#define PREDICT(NAME, QB, OTHER, WIDE)                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 1)                                                                                                              \
  NAME##_##QB(const u16 *xh, const u16 *xl, const float2 *xa, const u16 *zh, const u16 *zl, const float2 *za, const uint4 *beta, const float *scales, float *out,   \
              int n, int m, int padded, int resident, int q, int width, float g2, int kind, float p0, float p1) {                                                   \
    predict<QB, OTHER, WIDE>(xh, xl, xa, zh, zl, za, beta, scales, out, n, m, padded, resident, q, width, g2, kind, p0, p1);                                        \
  }
PREDICT(gaussian, 1, false, false)
PREDICT(gaussian, 2, false, false)
PREDICT(gaussian, 4, false, false)
PREDICT(gaussian_wide, 1, false, true)
PREDICT(gaussian_wide, 2, false, true)
PREDICT(other, 1, true, false)
PREDICT(other, 2, true, false)
PREDICT(other_wide, 1, true, true)
