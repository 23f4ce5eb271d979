// Newton's systems and the frame of the vectors, in fp64: a block factors a matrix in place, 32 columns at a time.
enum { PANEL = 32, CORNER = PANEL + 4, DEPTH = 96, SOLVERS = 384 };

struct Shared {
  double rows[PANEL][DEPTH + 4], corner[PANEL][CORNER], inverse[PANEL][CORNER], roots[PANEL];
  int wrong;
};

// The factor and the inverse of the block on the diagonal that is in `corner`, by one warp: a lane has a row, then a column. What the lanes tell each other goes through
// shared memory, first through the rows where the inverse will be.
DEV void factor_corner(Shared &s, int lane) {
  double own[PANEL];
  UNROLL
  for (int c = 0; c < PANEL; c++) own[c] = s.corner[lane][c];
  UNROLL
  for (int c = 0; c < PANEL; c++) {
    s.inverse[c][lane] = own[c];
    __syncwarp();
    double pivot = s.inverse[c][c], root = rsqrt(pivot), part = own[c] * (root * root);
    if (lane == 0) s.roots[c] = root;
    if (!(pivot > 0)) s.wrong = 1;
    own[c] *= root;
    UNROLL
    for (int k = c + 1; k < PANEL; k++) own[k] -= part * s.inverse[c][k];
  }
  UNROLL
  for (int c = 0; c < PANEL; c++) s.corner[lane][c] = c <= lane ? own[c] : 0;
  __syncwarp();
  UNROLL
  for (int k = 0; k < PANEL; k++) own[k] = k == lane;
  UNROLL
  for (int k = 0; k < PANEL; k++) {
    own[k] *= s.roots[k];
    UNROLL
    for (int i = k + 1; i < PANEL; i++) own[i] -= s.corner[i][k] * own[k];
  }
  UNROLL
  for (int k = 0; k < PANEL; k++) s.inverse[k][lane] = own[k];
}
// Replaces the lower triangle of a matrix h (width x width, rows of `stride`) by its Cholesky factor L, and each of `more` rows x (rows of `x_stride`) by that with
// x L' = row; a block for each matrix. Above the diagonal of each block on it stands what its inverse has below. Where `triangle`, row i of x begins with i zeros.
// `wrong` is 1 where a pivot is not positive, else 0.
extern "C" __global__ void __launch_bounds__(SOLVERS) factored(double *h, int width, int stride, double *x, int x_stride, int more, int triangle, double *wrong) {
  __shared__ Shared s;
  h += (size_t)blockIdx.x * width * stride, x += (size_t)blockIdx.x * more * x_stride;
  int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, at = lane >> 2, part = lane & 3;
  if (tid == 0) s.wrong = 0;
  for (int j0 = 0; j0 < width; j0 += PANEL) {
    int columns = min(PANEL, width - j0), extras = triangle ? min(more, j0 + PANEL) : more, of_h = (width - j0 + 15) / 16, tiles = of_h + (extras + 15) / 16;
    // Rows 16 at a time: those of h from j0 on, then those of x. A lane has two of them.
    auto rows = [&](int tile, double *(&from)[2], bool (&there)[2]) {
      UNROLL
      for (int i = 0; i < 2; i++) {
        int r = 8 * i + at + (tile < of_h ? j0 + tile * 16 : (tile - of_h) * 16), last = tile < of_h ? width - 1 : extras - 1;
        there[i] = r <= last;
        from[i] = (tile < of_h ? h + (size_t)min(r, last) * stride : x + (size_t)min(r, last) * x_stride) + part;
      }
    };
    // What the columns before take from these.
    for (int tile0 = 0; j0 > 0 && tile0 < tiles; tile0 += SOLVERS / 32) {
      int tile = tile0 + warp;
      double acc[2][4][2] = {}, *from[2];
      bool there[2];
      rows(min(tile, tiles - 1), from, there);
      for (int k0 = 0; k0 < j0; k0 += DEPTH) {
        int depth = min(DEPTH, j0 - k0);
        __syncthreads();
        for (int i = warp; i < columns; i += SOLVERS / 32)
          for (int k = lane; k < depth; k += 32) s.rows[i][k] = h[(size_t)(j0 + i) * stride + k0 + k];
        __syncthreads();
        if (tile >= tiles) continue;
        double now[2][4], next[2][4];
        UNROLL
        for (int i = 0; i < 2; i++) UNROLL for (int e = 0; e < 4; e++) now[i][e] = from[i][k0 + 4 * e];
        _Pragma("unroll 1") for (int k = 0; k < depth; k += INNER) {
          int ahead = k0 + min(k + INNER, depth - INNER);
          UNROLL
          for (int i = 0; i < 2; i++) UNROLL for (int e = 0; e < 4; e++) next[i][e] = from[i][ahead + 4 * e];
          multiply_blocks<2, 4>(acc, [&](int i, int e) { return now[i][e]; }, [&](int j, int e) { return s.rows[8 * j + at][k + 4 * e + part]; });
          UNROLL
          for (int i = 0; i < 2; i++) UNROLL for (int e = 0; e < 4; e++) now[i][e] = next[i][e];
        }
      }
      if (tile < tiles)
        UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 2; e++) {
          int c = 8 * j + 2 * part + e;
          if (there[i] && c < columns) from[i][j0 + c - part] -= acc[i][j][e];
        }
    }
    __syncthreads();
    for (int r = warp; r < PANEL; r += SOLVERS / 32)
      s.corner[r][lane] = r < columns && lane < columns ? h[(size_t)(j0 + max(r, lane)) * stride + j0 + min(r, lane)] : r == lane;
    __syncthreads();
    if (warp == 0) factor_corner(s, lane);
    __syncthreads();
    for (int r = warp; r < columns; r += SOLVERS / 32)
      if (lane < columns) h[(size_t)(j0 + r) * stride + j0 + lane] = lane <= r ? s.corner[r][lane] : s.inverse[lane][r];
    // The other rows times the transposed inverse.
    for (int tile = min(2, of_h) + warp; tile < tiles; tile += SOLVERS / 32) {
      double acc[2][4][2] = {}, *from[2];
      bool there[2];
      rows(tile, from, there);
      UNROLL
      for (int k = 0; k < PANEL; k += INNER) {
        double now[2][4];
        UNROLL
        for (int i = 0; i < 2; i++) UNROLL for (int e = 0; e < 4; e++) now[i][e] = k + 4 * e + part < columns ? from[i][j0 + k + 4 * e] : 0;
        multiply_blocks<2, 4>(acc, [&](int i, int e) { return now[i][e]; }, [&](int j, int e) { return s.inverse[8 * j + at][k + 4 * e + part]; });
      }
      __syncwarp();
      UNROLL
      for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 2; e++) {
        int c = 8 * j + 2 * part + e;
        if (there[i] && c < columns) from[i][j0 + c - part] = acc[i][j][e];
      }
    }
    __syncthreads();
  }
  if (tid == 0) wrong[blockIdx.x] = s.wrong;
}

// Newton's systems, of which each adds the penalty of the weights to its diagonal, and what is to be solved for: -g[k] with the gradient
// g[k][j] = gradient[j][k] + w[k][j], without w for the offset. A block for each output; `each` outputs share a system.
extern "C" __global__ void __launch_bounds__(256) prepared(double *systems, const double *gradient, const double *weights, double *steps, int stride, int m, int width, int q,
                                                           int each) {
  int k = blockIdx.x;
  double *h = systems + (size_t)(k / each) * width * width;
  for (int j = threadIdx.x; j < width; j += 256) {
    steps[(size_t)k * stride + j] = -(gradient[(size_t)j * q + k] + (j < m ? weights[(size_t)k * stride + j] : 0));
    double &v = h[(size_t)j * width + j];
    if (k % each == 0) v = j < m ? v + 1 : v * (1 + 1e-12) + 1e-12;
  }
}
// Newton's steps from factored systems, a block for each output. Half of the square of what is solved forward is what half of the step promises; not a number where a
// system has no factor.
extern "C" __global__ void __launch_bounds__(SOLVERS) solved(const double *systems, double *steps, int stride, const double *wrong, double *promised, int width, int each) {
  __shared__ double found[PANEL], sums[SOLVERS / 32];
  int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, system = blockIdx.x / each;
  const double *h = systems + (size_t)system * width * width;
  double *x = steps + (size_t)blockIdx.x * stride, square = 0;
  for (int j = tid; j < width; j += SOLVERS) square += x[j] * x[j];
  square = warp_sum(square);
  if (lane == 0) sums[warp] = square;
  __syncthreads();
  if (tid == 0) {
    double all = 0;
    for (int w = 0; w < SOLVERS / 32; w++) all += sums[w];
    promised[blockIdx.x] = wrong[system] != 0 ? __longlong_as_double(0x7ff8000000000000ll) : 0.5 * all;
  }
  for (int j0 = (width - 1) / PANEL * PANEL; j0 >= 0; j0 -= PANEL) {
    int columns = min(PANEL, width - j0);
    double y = lane < columns ? x[j0 + lane] : 0;
    __syncthreads();
    for (int c = warp; c < columns; c += SOLVERS / 32) {
      double v = lane < c || lane >= columns ? 0 : h[(size_t)(j0 + c) * width + j0 + lane];
      v = warp_sum(lane == c ? y / v : v * y);
      if (lane == 0) x[j0 + c] = found[c] = v;
    }
    __syncthreads();
    for (int i = tid; i < j0; i += SOLVERS) {
      double v = 0;
      UNROLL
      for (int c = 0; c < PANEL; c++) v += c < columns ? h[(size_t)(j0 + c) * width + i] * found[c] : 0;
      x[i] -= v;
    }
    __syncthreads();
  }
}
// Weights after a part of the steps, or `all` of each, a block for each output, and half of their squares without the offset.
extern "C" __global__ void __launch_bounds__(256) stepped(const double *weights, const double *steps, const double *parts, double all, double *out, double *norms, int m,
                                                          int width, int stride) {
  __shared__ double sums[8];
  int k = blockIdx.x;
  double sum = 0, part = parts ? parts[k] : all;
  for (int j = threadIdx.x; j < width; j += 256) {
    size_t at = (size_t)k * stride + j;
    double v = part == 0 ? weights[at] : weights[at] + part * steps[at];
    out[at] = v;
    if (j < m) sum += v * v;
  }
  sum = warp_sum(sum);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (int w = 0; w < 8; w++) total += sums[w];
    norms[k] = 0.5 * total;
  }
}

// Vectors less a centre, each with a 1 behind it, and their squares: a block for each.
extern "C" __global__ void __launch_bounds__(256) laid(const double *vectors, const double *centre, double *z, double *squares, int d, int stride) {
  __shared__ double sums[8];
  const double *from = vectors + (size_t)blockIdx.x * d;
  double *to = z + (size_t)blockIdx.x * stride, sum = 0;
  for (int k = threadIdx.x; k < d; k += 256) {
    double v = from[k] - centre[k];
    to[k] = v, sum += v * v;
  }
  sum = warp_sum(sum);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += sums[w];
    to[d] = 1, squares[blockIdx.x] = all;
  }
}
// The vectors' kernel matrix with `jitter` on its diagonal, and the unit matrix, of which `factored` makes the transposed inverse of the factor; a block for each row.
extern "C" __global__ void __launch_bounds__(256) framed(const double *values, double *matrix, double *unit, int stride, double jitter) {
  int r = blockIdx.x;
  for (int c = threadIdx.x; c < stride; c += 256) {
    size_t at = (size_t)r * stride + c;
    matrix[at] = r == c ? values[at] + jitter : values[at], unit[at] = r == c;
  }
}
// Turns an upper triangle into a lower one, in place; a block for each row.
extern "C" __global__ void __launch_bounds__(256) turned(double *matrix, int stride) {
  int r = blockIdx.x;
  for (int c = threadIdx.x; c < r; c += 256) {
    double &low = matrix[(size_t)r * stride + c], &high = matrix[(size_t)c * stride + r];
    low = high, high = 0;
  }
}
// Coefficients of weights: the transposed inverse times them.
extern "C" __global__ void __launch_bounds__(256) coefficients(const double *inverse, int stride, const double *weights, int w_stride, double *beta, int q_stride, int m) {
  __shared__ double sums[8][32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, j = blockIdx.x * 32 + lane, k = blockIdx.y;
  double sum = 0;
  for (int i = blockIdx.x * 32 + warp; i < m; i += 8) sum += (j <= i ? inverse[(size_t)i * stride + j] : 0) * weights[(size_t)k * w_stride + i];
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp == 0 && j < m) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += sums[w][lane];
    beta[(size_t)j * q_stride + k] = all;
  }
}
// The gradient by the vectors, from sums of rows and those of the vectors themselves, behind each of which stands the sum of its weights.
extern "C" __global__ void __launch_bounds__(256) vectors_gradient(const double *moved, const double *own, const double *z, int stride, double *out, int d) {
  size_t j = blockIdx.x, at = j * (d + 1);
  double total = moved[at + d] + own[at + d];
  for (int k = threadIdx.x; k < d; k += 256) out[j * d + k] = 2 * (total * z[j * stride + k] - (moved[at + k] + own[at + k]));
}
