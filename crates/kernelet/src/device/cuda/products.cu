// Products of matrices for training, in fp64: kernel values, coordinates, outputs, and sums over rows.
//
// Products are those of the fp64 tensor cores (slow but right on cards that have none). A block of 4 warps has a tile whose inner columns or rows come through shared
// memory, 16 at a time. Rows of all matrices have an even number of places, so that two numbers are copied at a time. Sums over rows are made in parts, as many as the
// sizes and the number of rows say, which are added in their order.
enum { INNER = 16, WARPS = 4, BLOCK = 32 * WARPS };

DEV void copy16(const double *to, const double *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}
DEV void copy8(const double *to, const double *from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 8 : 0) : "memory");
}
DEV void multiply(double (&d)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}
// Adds the products of 16 inner places to TM x TN blocks of 8 x 8 of a warp. a(i, k) is this lane's number of the rows of block i: row lane / 4, place 4 k + lane % 4;
// b(j, k) the same of columns.
template <int TM, int TN, class A, class B>
DEV void multiply_blocks(double (&acc)[TM][TN][2], A a, B b) {
  double fb[TN][4];
  UNROLL
  for (int j = 0; j < TN; j++) UNROLL for (int k = 0; k < 4; k++) fb[j][k] = b(j, k);
  UNROLL
  for (int i = 0; i < TM; i += 2) {
    double fa[2][4];
    UNROLL
    for (int k = 0; k < 4; k++) fa[0][k] = a(i, k), fa[1][k] = a(i + 1, k);
    UNROLL
    for (int j = 0; j < TN; j++) {
#if __CUDA_ARCH__ >= 900
      double(&c)[2] = acc[i][j], (&d)[2] = acc[i + 1][j];
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                   : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
                   : "d"(fa[0][0]), "d"(fa[1][0]), "d"(fa[0][1]), "d"(fa[1][1]), "d"(fa[0][2]), "d"(fa[1][2]), "d"(fa[0][3]), "d"(fa[1][3]), "d"(fb[j][0]), "d"(fb[j][1]),
                     "d"(fb[j][2]), "d"(fb[j][3]));
#else
      UNROLL
      for (int k = 0; k < 4; k++) multiply(acc[i][j], fa[0][k], fb[j][k]), multiply(acc[i + 1][j], fa[1][k], fb[j][k]);
#endif
    }
  }
}

// A tile of a b': rows of both lie one after another, `a_list` names those of a. WM x WN warps have TM x TN blocks of 8 x 8 each. Calls store(row, column, value).
template <int WM, int WN, int TM, int TN, class Store>
DEV void tile_nt(const double *a, int a_stride, const int *a_list, int n, const double *b, int b_stride, int p, int inner, Store store) {
  enum { ROWS = 8 * WM * TM, COLUMNS = 8 * WN * TN, STAGES = 3 };
  // The place of a number in a row of 16 depends on the row, so that those that a warp reads at once lie in different banks.
  __shared__ __align__(16) double sa[STAGES][ROWS][INNER], sb[STAGES][COLUMNS][INNER];
  int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, wm = warp % WM, wn = warp / WM, across = (p + COLUMNS - 1) / COLUMNS;
  int row0 = blockIdx.x / across * ROWS, col0 = blockIdx.x % across * COLUMNS, r = tid >> 3, c = 2 * (tid & 7), chunks = (inner + INNER - 1) / INNER;
  const double *from_a[ROWS / 16], *from_b[COLUMNS / 16];
  UNROLL
  for (int i = 0; i < ROWS / 16; i++) {
    int row = min(row0 + r + 16 * i, n - 1);
    from_a[i] = a + (size_t)(a_list ? a_list[row] : row) * a_stride;
  }
  UNROLL
  for (int i = 0; i < COLUMNS / 16; i++) from_b[i] = b + (size_t)min(col0 + r + 16 * i, p - 1) * b_stride;
  auto load = [&](int chunk) {
    if (chunk < chunks) {
      int k = chunk * INNER + c, bytes = min(max(inner - k, 0), 2) * 8, to = c ^ (r & 3) << 2, s = chunk % STAGES;
      UNROLL
      for (int i = 0; i < ROWS / 16; i++) copy16(&sa[s][r + 16 * i][to], from_a[i] + (bytes ? k : 0), bytes);
      UNROLL
      for (int i = 0; i < COLUMNS / 16; i++) copy16(&sb[s][r + 16 * i][to], from_b[i] + (bytes ? k : 0), bytes);
    }
    copies_commit();
  };
  double acc[TM][TN][2] = {};
  load(0);
  load(1);
  for (int chunk = 0; chunk < chunks; chunk++) {
    copies_wait<1>();
    __syncthreads();
    load(chunk + 2);
    int s = chunk % STAGES, at = lane >> 2, turn = (at & 3) << 2, part = lane & 3;
    multiply_blocks<TM, TN>(acc, [&](int i, int k) { return sa[s][(wm * TM + i) * 8 + at][(4 * k ^ turn) + part]; },
                            [&](int j, int k) { return sb[s][(wn * TN + j) * 8 + at][(4 * k ^ turn) + part]; });
  }
  UNROLL
  for (int i = 0; i < TM; i++) UNROLL for (int j = 0; j < TN; j++) UNROLL for (int e = 0; e < 2; e++) {
    int row = row0 + (wm * TM + i) * 8 + (lane >> 2), column = col0 + (wn * TN + j) * 8 + 2 * (lane & 3) + e;
    if (row < n && column < p) store(row, column, acc[i][j][e]);
  }
}

// Gaussian kernel values between rows and vectors.
extern "C" __global__ void __launch_bounds__(BLOCK) kernel_values(const double *x, const double *x_squares, const double *z, const double *z_squares, double *out,
                                                                  int out_stride, int n, int m, int d, int stride, double gamma) {
  tile_nt<2, 2, 4, 4>(x, stride, nullptr, n, z, stride, m, d, [&](int i, int j, double product) {
    out[(size_t)i * out_stride + j] = exp(-gamma * fmax(x_squares[i] + z_squares[j] - 2 * product, 0.0));
  });
}
// Coordinates: kernel values times the inverse factor, a lower triangle; behind them a 1 where `offset`.
extern "C" __global__ void __launch_bounds__(BLOCK) coordinates(const double *values, int values_stride, const double *inverse, int inverse_stride, double *out, int out_stride,
                                                                int n, int m, int offset) {
  int inner = min(m, (int)(blockIdx.x % ((m + 63) / 64) + 1) * 64);
  tile_nt<2, 2, 4, 4>(values, values_stride, nullptr, n, inverse, inverse_stride, m, inner, [&](int i, int j, double product) {
    double *to = out + (size_t)i * out_stride + j;
    *to = product;
    if (offset && j == m - 1) to[1] = 1;
  });
}
// Outputs a w' of rows.
extern "C" __global__ void __launch_bounds__(BLOCK) outputs(const double *a, int stride, const double *w, int w_stride, double *out, int out_stride, int n, int q,
                                                            int inner) {
  tile_nt<4, 1, 2, 2>(a, stride, nullptr, n, w, w_stride, q, inner, [&](int i, int k, double product) { out[(size_t)i * out_stride + k] = product; });
}
// Derivatives of the value by the kernel's argument: (slopes beta') k', for the rows of a list, close together; without a list for the vectors themselves.
extern "C" __global__ void __launch_bounds__(BLOCK) pulls(const double *slopes, const double *beta, int q_stride, const double *values, double *out, int stride, const int *list,
                                                          const int *count, int m, int q, double gamma) {
  int n = list ? *count : m;
  if ((int)(blockIdx.x / ((m + 63) / 64)) * 64 >= n) return;
  tile_nt<2, 2, 4, 4>(slopes, q_stride, list, n, beta, q_stride, m, q, [&](int i, int j, double product) {
    out[(size_t)i * stride + j] = -gamma * product * values[(size_t)(list ? list[i] : i) * stride + j];
  });
}

// Rows of a part of a sum over `rows` of them: no part is small, so that few rows have few parts.
DEV int part_rows(int rows, int splits) {
  int size = max((rows + splits - 1) / splits, 192);
  return (size + INNER - 1) / INNER * INNER;
}
// A part of a' diag(weights) b over the rows of a list: parts[group][split][column of a][column of b]. `a_close` says that the rows of a are those of the list,
// close together. Only the lower triangle where `lower`. Warps have TM x TN blocks of 8 x 8.
template <int WM, int WN, int TM, int TN>
DEV void tile_tn(const double *a, int a_stride, int pa, int a_close, const double *b, int b_stride, int pb, const double *weights, int weights_stride, const int *lists,
                 const int *counts, int n, double *parts, int lower) {
  enum { ROWS = 8 * WM * TM, COLUMNS = 8 * WN * TN };
  __shared__ __align__(16) double sa[2][INNER][ROWS], sb[2][INNER][COLUMNS], sw[2][INNER];
  int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, wm = warp % WM, wn = warp / WM;
  int across = (pb + COLUMNS - 1) / COLUMNS, a0 = blockIdx.x / across * ROWS, b0 = blockIdx.x % across * COLUMNS, splits = gridDim.y, group = blockIdx.z;
  if (lower && b0 > a0) return;
  const int *list = lists ? lists + (size_t)group * n : nullptr;
  int rows = lists ? counts[group] : n, size = part_rows(rows, splits);
  int first = min(rows, (int)blockIdx.y * size), last = min(rows, first + size), chunks = (last - first + INNER - 1) / INNER;
  // The first part is there even where there are no rows.
  if (blockIdx.y > 0 && first == last) return;
  // A thread copies two columns of some of the 16 rows, whose places are looked up a chunk before.
  enum { EACH_A = ROWS / 16, EACH_B = COLUMNS / 16 };
  int next_a[EACH_A], next_b[EACH_B], ca = 2 * (tid % (ROWS / 2)), ka = tid / (ROWS / 2), cb = 2 * (tid % (COLUMNS / 2)), kb = tid / (COLUMNS / 2);
  int bytes_a = min(max(pa - a0 - ca, 0), 2) * 8, bytes_b = min(max(pb - b0 - cb, 0), 2) * 8;
  auto row_of = [&](int chunk, int k, bool close) {
    int at = min(first + chunk * INNER + k, last - 1);
    return close || !list ? at : list[at];
  };
  auto look = [&](int chunk) {
    if (chunk < chunks) {
      UNROLL
      for (int i = 0; i < EACH_A; i++) next_a[i] = row_of(chunk, ka + i * (2 * BLOCK / ROWS), a_close);
      UNROLL
      for (int i = 0; i < EACH_B; i++) next_b[i] = row_of(chunk, kb + i * (2 * BLOCK / COLUMNS), false);
    }
  };
  auto load = [&](int chunk) {
    if (chunk < chunks) {
      int s = chunk & 1, left = last - first - chunk * INNER;
      UNROLL
      for (int i = 0; i < EACH_A; i++) {
        int k = ka + i * (2 * BLOCK / ROWS);
        copy16(&sa[s][k][ca ^ (k & 3) << 2], a + (size_t)next_a[i] * a_stride + (bytes_a ? a0 + ca : 0), k < left ? bytes_a : 0);
      }
      UNROLL
      for (int i = 0; i < EACH_B; i++) {
        int k = kb + i * (2 * BLOCK / COLUMNS);
        copy16(&sb[s][k][cb ^ (k & 3) << 2], b + (size_t)next_b[i] * b_stride + (bytes_b ? b0 + cb : 0), k < left ? bytes_b : 0);
      }
      if (weights && tid < INNER) copy8(&sw[s][tid], weights + (size_t)row_of(chunk, tid, false) * weights_stride + group, tid < left);
    }
    copies_commit();
    look(chunk + 1);
  };
  look(0);
  double acc[TM][TN][2] = {};
  load(0);
  for (int chunk = 0; chunk < chunks; chunk++) {
    load(chunk + 1);
    copies_wait<1>();
    __syncthreads();
    int s = chunk & 1, at = lane >> 2, part = lane & 3;
    double w[4] = {1, 1, 1, 1};
    if (weights) UNROLL for (int k = 0; k < 4; k++) w[k] = sw[s][4 * k + part];
    multiply_blocks<TM, TN>(acc, [&](int i, int k) { return sa[s][4 * k + part][((wm * TM + i) * 8 + at) ^ part << 2] * w[k]; },
                            [&](int j, int k) { return sb[s][4 * k + part][((wn * TN + j) * 8 + at) ^ part << 2]; });
    __syncthreads();
  }
  double *out = parts + ((size_t)group * splits + blockIdx.y) * pa * pb;
  UNROLL
  for (int i = 0; i < TM; i++) UNROLL for (int j = 0; j < TN; j++) UNROLL for (int e = 0; e < 2; e++) {
    int row = a0 + (wm * TM + i) * 8 + (lane >> 2), column = b0 + (wn * TN + j) * 8 + 2 * (lane & 3) + e;
    if (row < pa && column < pb) out[(size_t)row * pb + column] = acc[i][j][e];
  }
}
extern "C" __global__ void __launch_bounds__(BLOCK) sums_tn(const double *a, int a_stride, int pa, int a_close, const double *b, int b_stride, int pb, const double *weights,
                                                            int weights_stride, const int *lists, const int *counts, int n, double *parts, int lower) {
  tile_tn<2, 2, 4, 4>(a, a_stride, pa, a_close, b, b_stride, pb, weights, weights_stride, lists, counts, n, parts, lower);
}
// The same for few columns of b.
extern "C" __global__ void __launch_bounds__(BLOCK) narrow_sums_tn(const double *a, int a_stride, int pa, int a_close, const double *b, int b_stride, int pb,
                                                                   const double *weights, int weights_stride, const int *lists, const int *counts, int n, double *parts,
                                                                   int lower) {
  tile_tn<4, 1, 2, 2>(a, a_stride, pa, a_close, b, b_stride, pb, weights, weights_stride, lists, counts, n, parts, lower);
}
// Adds the parts of each group in their order.
extern "C" __global__ void add_parts(const double *parts, double *out, int size, int splits, int width, int lower, const int *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, rows = counts ? counts[blockIdx.y] : n, of_rows = part_rows(rows, splits), used = max((rows + of_rows - 1) / of_rows, 1);
  if (i >= size) return;
  const double *from = parts + (size_t)blockIdx.y * splits * size + i;
  double sum = 0;
  if (!lower || i % width <= i / width)
    for (int s = 0; s < used; s++) sum += from[(size_t)s * size];
  out[(size_t)blockIdx.y * size + i] = sum;
}
