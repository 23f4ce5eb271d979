// Sums over rows for training, in fp64: kernel values, coordinates, losses, Newton's systems and what the gradient by the vectors needs.
//
// Products are those of the fp64 tensor cores (slow but right on cards that have none). A block of 4 warps has a tile of 64 x 64, each warp 32 x 32 of it; 16 inner
// columns or rows at a time come through shared memory, two stages of them. Sums over rows are made in a fixed number of parts, which are added in their order.
enum { SIDE = 64, INNER = 16, NT_STRIDE = 20, TN_STRIDE = 68 };
enum { SQUARED_HINGE, LOGISTIC, SOFTMAX, SQUARED };

DEV void multiply(double (&d)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}
// Copies a number, or writes 0.
DEV void copy8(const double *to, const double *from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 8 : 0) : "memory");
}

// A tile of a b': rows of both lie one after another, `a_list` names those of a. Calls store(row, column, value).
template <class Store>
DEV void tile_nt(const double *a, int a_stride, const int *a_list, int n, const double *b, int b_stride, int p, int inner, Store store) {
  __shared__ double sa[2][SIDE][NT_STRIDE], sb[2][SIDE][NT_STRIDE];
  int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, wm = warp & 1, wn = warp >> 1, row0 = blockIdx.x * SIDE, col0 = blockIdx.y * SIDE;
  int r = tid >> 4, c = tid & 15, chunks = (inner + INNER - 1) / INNER;
  const double *from_a[8], *from_b[8];
  UNROLL
  for (int i = 0; i < 8; i++) {
    int row = min(row0 + r + 8 * i, n - 1), column = min(col0 + r + 8 * i, p - 1);
    from_a[i] = a + (size_t)(a_list ? a_list[row] : row) * a_stride;
    from_b[i] = b + (size_t)column * b_stride;
  }
  auto load = [&](int chunk) {
    if (chunk < chunks) {
      int k = chunk * INNER + c;
      bool there = k < inner;
      UNROLL
      for (int i = 0; i < 8; i++) {
        copy8(&sa[chunk & 1][r + 8 * i][c], from_a[i] + (there ? k : 0), there);
        copy8(&sb[chunk & 1][r + 8 * i][c], from_b[i] + (there ? k : 0), there);
      }
    }
    copies_commit();
  };
  double acc[4][4][2] = {};
  load(0);
  for (int chunk = 0; chunk < chunks; chunk++) {
    load(chunk + 1);
    copies_wait<1>();
    __syncthreads();
    UNROLL
    for (int k = 0; k < INNER; k += 4) {
      double fa[4], fb[4];
      UNROLL
      for (int i = 0; i < 4; i++) {
        fa[i] = sa[chunk & 1][wm * 32 + i * 8 + (lane >> 2)][k + (lane & 3)];
        fb[i] = sb[chunk & 1][wn * 32 + i * 8 + (lane >> 2)][k + (lane & 3)];
      }
      UNROLL
      for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) multiply(acc[i][j], fa[i], fb[j]);
    }
    __syncthreads();
  }
  UNROLL
  for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 2; e++) {
    int row = row0 + wm * 32 + i * 8 + (lane >> 2), column = col0 + wn * 32 + j * 8 + 2 * (lane & 3) + e;
    if (row < n && column < p) store(row, column, acc[i][j][e]);
  }
}

// Gaussian kernel values between rows and vectors; a number stands behind each row and each vector.
extern "C" __global__ void __launch_bounds__(128) kernel_values(const double *x, const double *x_squares, const double *z, const double *z_squares, double *out, int n, int m,
                                                                int d, double gamma) {
  tile_nt(x, d + 1, nullptr, n, z, d + 1, m, d, [&](int i, int j, double product) {
    out[(size_t)i * m + j] = exp(-gamma * fmax(x_squares[i] + z_squares[j] - 2 * product, 0.0));
  });
}
// Coordinates: kernel values times the inverse factor, a lower triangle.
extern "C" __global__ void __launch_bounds__(128) coordinates(const double *values, const double *inverse, double *out, int out_stride, int n, int m) {
  int inner = min(m, (int)(blockIdx.y + 1) * SIDE);
  tile_nt(values, m, nullptr, n, inverse, m, m, inner, [&](int i, int j, double product) { out[(size_t)i * out_stride + j] = product; });
}
// Outputs a w' of rows.
extern "C" __global__ void __launch_bounds__(128) outputs(const double *a, int stride, const double *w, double *out, int n, int q, int inner) {
  tile_nt(a, stride, nullptr, n, w, inner, q, inner, [&](int i, int k, double product) { out[(size_t)i * q + k] = product; });
}
// Derivatives of the value by the kernel's argument: (slopes beta') k', for the rows of a list, close together; without a list for the vectors themselves.
extern "C" __global__ void __launch_bounds__(128) pulls(const double *slopes, const double *beta, const double *values, double *out, const int *list, const int *count,
                                                        int m, int q, double gamma) {
  int n = list ? *count : m;
  if ((int)blockIdx.x * SIDE >= n) return;
  tile_nt(slopes, q, list, n, beta, q, m, q, [&](int i, int j, double product) { out[(size_t)i * m + j] = -gamma * product * values[(size_t)(list ? list[i] : i) * m + j]; });
}

// A part of a' diag(weights) b over the rows of a list: parts[group][split][column of a][column of b]. `a_close` says that the rows of a are those of the list,
// close together. Only the lower triangle where `lower`.
extern "C" __global__ void __launch_bounds__(128) sums_tn(const double *a, int a_stride, int pa, int a_close, const double *b, int b_stride, int pb, const double *weights,
                                                          int weights_stride, const int *lists, const int *counts, int n, double *parts, int lower) {
  __shared__ double sa[2][INNER][TN_STRIDE], sb[2][INNER][TN_STRIDE], sw[2][INNER];
  int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, wm = warp & 1, wn = warp >> 1;
  int across = (pb + SIDE - 1) / SIDE, a0 = blockIdx.x / across * SIDE, b0 = blockIdx.x % across * SIDE, splits = gridDim.y, group = blockIdx.z;
  if (lower && b0 > a0) return;
  const int *list = lists ? lists + (size_t)group * n : nullptr;
  int rows = lists ? counts[group] : n, size = (rows + splits - 1) / splits;
  size = (size + INNER - 1) / INNER * INNER;
  int first = min(rows, (int)blockIdx.y * size), last = min(rows, first + size), chunks = (last - first + INNER - 1) / INNER;
  int r = tid >> 6, c = tid & 63;
  bool in_a = a0 + c < pa, in_b = b0 + c < pb;
  auto load = [&](int chunk) {
    if (chunk < chunks) {
      UNROLL
      for (int i = 0; i < 8; i++) {
        int place = first + chunk * INNER + r + 2 * i, at = min(place, last - 1), row = list ? list[at] : at;
        bool there = place < last;
        copy8(&sa[chunk & 1][r + 2 * i][c], a + (size_t)(a_close ? at : row) * a_stride + (in_a ? a0 + c : 0), there && in_a);
        copy8(&sb[chunk & 1][r + 2 * i][c], b + (size_t)row * b_stride + (in_b ? b0 + c : 0), there && in_b);
        if (weights && c == 0) copy8(&sw[chunk & 1][r + 2 * i], weights + (size_t)row * weights_stride + group, there);
      }
    }
    copies_commit();
  };
  double acc[4][4][2] = {};
  load(0);
  for (int chunk = 0; chunk < chunks; chunk++) {
    load(chunk + 1);
    copies_wait<1>();
    __syncthreads();
    UNROLL
    for (int k = 0; k < INNER; k += 4) {
      double fa[4], fb[4], w = weights ? sw[chunk & 1][k + (lane & 3)] : 1.0;
      UNROLL
      for (int i = 0; i < 4; i++) {
        fa[i] = sa[chunk & 1][k + (lane & 3)][wm * 32 + i * 8 + (lane >> 2)] * w;
        fb[i] = sb[chunk & 1][k + (lane & 3)][wn * 32 + i * 8 + (lane >> 2)];
      }
      UNROLL
      for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) multiply(acc[i][j], fa[i], fb[j]);
    }
    __syncthreads();
  }
  double *out = parts + ((size_t)group * splits + blockIdx.y) * pa * pb;
  UNROLL
  for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 2; e++) {
    int row = a0 + wm * 32 + i * 8 + (lane >> 2), column = b0 + wn * 32 + j * 8 + 2 * (lane & 3) + e;
    if (row < pa && column < pb) out[(size_t)row * pb + column] = acc[i][j][e];
  }
}
// Adds the parts of each group in their order.
extern "C" __global__ void add_parts(const double *parts, double *out, int size, int splits, int width, int lower) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const double *from = parts + (size_t)blockIdx.y * splits * size + i;
  double sum = 0;
  if (!lower || i % width <= i / width)
    for (int s = 0; s < splits; s++) sum += from[(size_t)s * size];
  out[(size_t)blockIdx.y * size + i] = sum;
}

// Losses of rows, their slopes by the outputs and their weights in Newton's systems; parts[block] has the sum of each loss and behind them that of errors.
extern "C" __global__ void __launch_bounds__(256) losses(const double *outputs, const int *codes, const double *targets, const double *costs, double *slopes,
                                                         double *curvatures, double *parts, int n, int q, int kind) {
  __shared__ double part[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, systems = kind == SQUARED_HINGE ? q : 1;
  bool there = i < n;
  const double *f = outputs + (size_t)min(i, n - 1) * q;
  double *s = slopes + (size_t)i * q;
  double cost = there ? costs[i] : 0, one = 0, error = 0;
  int code = there && kind != SQUARED ? codes[i] : 0;
  auto add = [&](double v, int place) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      double sum = 0;
      for (int w = 0; w < 8; w++) sum += part[w];
      parts[(size_t)blockIdx.x * (systems + 1) + place] = sum;
    }
    __syncthreads();
  };
  if (kind == SQUARED_HINGE) {
    int best = 0;
    for (int k = 0; k < q; k++) {
      double side = (q == 1 ? code == 1 : code == k) ? 1 : -1, out = f[k], missing = side * out < 1 ? side - out : 0, loss = cost * missing * missing;
      if (out > f[best]) best = k;
      if (there) {
        s[k] = -2 * cost * missing;
        curvatures[(size_t)i * q + k] = side * out < 1 ? 2 * cost : 0;
      }
      add(there ? loss : 0, k);
    }
    error = q == 1 ? (f[0] > 0) != (code == 1) : best != code;
  } else if (kind == LOGISTIC) {
    double side = code == 1 ? 1 : -1, margin = side * f[0], p = margin > 0 ? exp(-margin) / (1 + exp(-margin)) : 1 / (1 + exp(margin));
    one = cost * (margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin);
    if (there) {
      s[0] = -cost * side * p;
      curvatures[i] = cost * p * (1 - p);
    }
    error = (f[0] > 0) != (code == 1);
  } else if (kind == SOFTMAX) {
    int best = 0;
    for (int k = 1; k < q; k++) if (f[k] > f[best]) best = k;
    double top = f[best], sum = 0, curvature = 0;
    for (int k = 0; k < q; k++) sum += exp(f[k] - top);
    one = cost * (log(sum) + top - f[code]);
    for (int k = 0; k < q; k++) {
      double p = exp(f[k] - top) / sum;
      curvature += p * (1 - p);
      if (there) s[k] = cost * (p - (k == code));
    }
    if (there) curvatures[i] = cost * curvature / q;
    error = best != code;
  } else {
    for (int k = 0; k < q; k++) {
      double missing = targets[(size_t)min(i, n - 1) * q + k] - f[k];
      one += cost * missing * missing;
      error += missing * missing;
      if (there) s[k] = -2 * cost * missing;
    }
    if (there) curvatures[i] = 2 * cost;
  }
  if (kind != SQUARED_HINGE) add(there ? one : 0, 0);
  add(there ? error : 0, systems);
}
// The second derivatives of rows times a direction, for losses that bind outputs together.
extern "C" __global__ void curve(const double *outputs, const double *along, const double *costs, double *out, int n, int q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double *f = outputs + (size_t)i * q, *d = along + (size_t)i * q;
  double top = f[0], sum = 0, mean = 0;
  for (int k = 1; k < q; k++) top = fmax(top, f[k]);
  for (int k = 0; k < q; k++) {
    double e = exp(f[k] - top);
    sum += e, mean += e * d[k];
  }
  mean /= sum;
  for (int k = 0; k < q; k++) out[(size_t)i * q + k] = costs[i] * exp(f[k] - top) / sum * (d[k] - mean);
}

// The rows with a number that is not 0, in their order: one block for each group, of 1024 threads. Group g looks at column g of `columns`; where there are no
// columns for it, at all of `across`.
extern "C" __global__ void __launch_bounds__(1024) chosen(const double *columns, int n_columns, const double *across, int n_across, int n, int *lists, int *counts) {
  __shared__ int before[33];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = blockIdx.x, total = 0;
  int *list = lists + (size_t)group * n;
  for (int first = 0; first < n; first += 1024) {
    int i = first + threadIdx.x;
    bool take = false;
    if (i < n) {
      if (group < n_columns) take = columns[(size_t)i * n_columns + group] != 0;
      else for (int k = 0; k < n_across; k++) take |= across[(size_t)i * n_across + k] != 0;
    }
    u32 votes = __ballot_sync(~0u, take);
    if (lane == 0) before[warp] = __popc(votes);
    __syncthreads();
    if (warp == 0) {
      int own = before[lane], sum = own;
      for (int o = 1; o < 32; o <<= 1) {
        int other = __shfl_up_sync(~0u, sum, o);
        if (lane >= o) sum += other;
      }
      before[lane] = sum - own;
      if (lane == 31) before[32] = sum;
    }
    __syncthreads();
    if (take) list[total + before[warp] + __popc(votes & ((1u << lane) - 1))] = i;
    total += before[32];
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[group] = total;
}

// Newton's steps. A block takes a system, adds the penalty of the weights to its diagonal, factors it in place, 16 columns at a time, and solves for the outputs that
// share it: steps[k] = -H^-1 g[k] with the gradient g[k][j] = gradient[j][k] + w[k][j], without w for the offset. promised[k] = -1/2 g.step, not a number where a
// system has no factor.
enum { PANEL = 16, SOLVERS = PANEL * PANEL };
extern "C" __global__ void __launch_bounds__(SOLVERS) newton_steps(double *systems, const double *gradient, const double *weights, double *steps, double *promised, int m,
                                                                   int width, int q) {
  __shared__ double corner[PANEL][PANEL + 1], staged[SOLVERS][PANEL + 1], inverse[PANEL], part[SOLVERS / 32];
  double *h = systems + (size_t)blockIdx.x * width * width;
  int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, row = tid / PANEL, column = tid % PANEL, each = q / gridDim.x, first = blockIdx.x * each;
  // A thread's number of a block on the diagonal.
  auto diagonal = [&](int j0, int columns) { return row < columns && column <= row ? h[(size_t)(j0 + row) * width + j0 + column] : 0; };
  for (int j = tid; j < width; j += SOLVERS) {
    double &v = h[(size_t)j * width + j];
    v = j < m ? v + 1 : v * (1 + 1e-12) + 1e-12;
  }
  __syncthreads();
  for (int j0 = 0; j0 < width; j0 += PANEL) {
    int columns = min(PANEL, width - j0);
    // What the columns before take from these, a thread for each row.
    for (int i0 = j0; i0 < width; i0 += SOLVERS) {
      int i = i0 + tid;
      double sum[PANEL] = {};
      for (int k0 = 0; k0 < j0; k0 += PANEL) {
        __syncthreads();
        corner[row][column] = row < columns ? h[(size_t)(j0 + row) * width + k0 + column] : 0;
        UNROLL
        for (int r = 0; r < SOLVERS; r += PANEL) staged[r + row][column] = i0 + r + row < width ? h[(size_t)(i0 + r + row) * width + k0 + column] : 0;
        __syncthreads();
        for (int k = 0; k < PANEL; k++) {
          double v = staged[tid][k];
          UNROLL
          for (int c = 0; c < PANEL; c++) sum[c] = fma(v, corner[c][k], sum[c]);
        }
      }
      if (i < width) {
        UNROLL
        for (int c = 0; c < PANEL; c++) if (c < columns && j0 + c <= i) h[(size_t)i * width + j0 + c] -= sum[c];
      }
    }
    __syncthreads();
    corner[row][column] = diagonal(j0, columns);
    __syncthreads();
    if (warp == 0)
      for (int k = 0; k < columns; k++) {
        double root = sqrt(corner[k][k]);
        __syncwarp();
        if (lane == k) corner[k][k] = root, inverse[k] = 1 / root;
        if (lane > k && lane < columns) corner[lane][k] /= root;
        __syncwarp();
        if (lane > k && lane < columns)
          for (int c = k + 1; c <= lane; c++) corner[lane][c] -= corner[lane][k] * corner[c][k];
        __syncwarp();
      }
    __syncthreads();
    if (row < columns && column <= row) h[(size_t)(j0 + row) * width + j0 + column] = corner[row][column];
    // Read again for each row: kept over the rows they would fill more registers than there are.
    volatile double (*fixed)[PANEL + 1] = corner, *reciprocal = inverse;
    for (int i = j0 + PANEL + tid; i < width; i += SOLVERS) {
      double own[PANEL], *at = h + (size_t)i * width + j0;
      UNROLL
      for (int c = 0; c < PANEL; c++) {
        double v = at[c];
        UNROLL
        for (int k = 0; k < c; k++) v -= own[k] * fixed[c][k];
        own[c] = v * reciprocal[c];
      }
      UNROLL
      for (int c = 0; c < PANEL; c++) at[c] = own[c];
    }
    __syncthreads();
  }
  for (int k = first; k < first + each; k++) {
    double *x = steps + (size_t)k * width;
    for (int j = tid; j < width; j += SOLVERS) x[j] = -(gradient[(size_t)j * q + k] + (j < m ? weights[(size_t)k * width + j] : 0));
    __syncthreads();
    for (int j0 = 0; j0 < width; j0 += PANEL) {
      int columns = min(PANEL, width - j0);
      corner[row][column] = diagonal(j0, columns);
      __syncthreads();
      if (warp == 0) {
        double v = lane < columns ? x[j0 + lane] : 0;
        for (int c = 0; c < columns; c++) {
          double done = __shfl_sync(~0u, v, c) / corner[c][c];
          if (lane == c) v = done;
          if (lane > c && lane < columns) v -= corner[lane][c] * done;
        }
        if (lane < columns) x[j0 + lane] = v;
      }
      __syncthreads();
      for (int i = j0 + PANEL + tid; i < width; i += SOLVERS) {
        double v = x[i];
        for (int c = 0; c < columns; c++) v -= h[(size_t)i * width + j0 + c] * x[j0 + c];
        x[i] = v;
      }
      __syncthreads();
    }
    for (int j0 = (width - 1) / PANEL * PANEL; j0 >= 0; j0 -= PANEL) {
      int columns = min(PANEL, width - j0);
      corner[row][column] = diagonal(j0, columns);
      __syncthreads();
      if (warp == 0) {
        double v = lane < columns ? x[j0 + lane] : 0;
        for (int c = columns - 1; c >= 0; c--) {
          double done = __shfl_sync(~0u, v, c) / corner[c][c];
          if (lane == c) v = done;
          if (lane < c) v -= corner[c][lane] * done;
        }
        if (lane < columns) x[j0 + lane] = v;
      }
      __syncthreads();
      for (int i = tid; i < j0; i += SOLVERS) {
        double v = x[i];
        for (int c = 0; c < columns; c++) v -= h[(size_t)(j0 + c) * width + i] * x[j0 + c];
        x[i] = v;
      }
      __syncthreads();
    }
    double sum = 0;
    for (int j = tid; j < width; j += SOLVERS) sum += (gradient[(size_t)j * q + k] + (j < m ? weights[(size_t)k * width + j] : 0)) * x[j];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    if (tid == 0) {
      double all = 0;
      for (int w = 0; w < SOLVERS / 32; w++) all += part[w];
      promised[k] = -0.5 * all;
    }
    __syncthreads();
  }
}
// Weights after a part of the steps, a block for each output, and half of their squares without the offset.
extern "C" __global__ void __launch_bounds__(256) stepped(const double *weights, const double *steps, const double *parts, double *out, double *norms, int m, int width) {
  __shared__ double part[8];
  int k = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  double sum = 0;
  for (int j = threadIdx.x; j < width; j += 256) {
    size_t at = (size_t)k * width + j;
    double v = parts[k] == 0 ? weights[at] : weights[at] + parts[k] * steps[at];
    out[at] = v;
    if (j < m) sum += v * v;
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += part[w];
    norms[k] = 0.5 * all;
  }
}
