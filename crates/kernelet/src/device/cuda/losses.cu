// Losses of rows and the rows that have any, for training, in fp64.
enum { SQUARED_HINGE, LOGISTIC, SOFTMAX, SQUARED, TAUGHT };

DEV double warp_sum(double v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}

// Losses of rows, their slopes by the outputs and their weights in Newton's systems; parts[block] has the sum of each loss and behind them that of errors.
extern "C" __global__ void __launch_bounds__(256) losses(const double *outputs, const int *codes, const double *targets, const double *costs, double *slopes,
                                                         double *curvatures, double *parts, int n, int q, int stride, int kind) {
  __shared__ double part[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, systems = kind == SQUARED_HINGE || kind == TAUGHT ? q : 1;
  bool there = i < n;
  const double *f = outputs + (size_t)min(i, n - 1) * stride;
  double *s = slopes + (size_t)i * stride;
  double cost = there ? costs[i] : 0, one = 0, error = 0;
  int code = there && kind != SQUARED && kind != TAUGHT ? codes[i] : 0;
  auto add = [&](double v, int place) {
    v = warp_sum(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      double sum = 0;
      for (int w = 0; w < 8; w++) sum += part[w];
      parts[(size_t)blockIdx.x * (systems + 1) + place] = sum;
    }
    __syncthreads();
  };
  if (kind == TAUGHT) {
    for (int k = 0; k < q; k++) {
      double target = targets[(size_t)min(i, n - 1) * q + k], out = f[k];
      bool is_short = target * out < 1 || fabs(target) < 1;
      double missing = is_short ? target - out : 0;
      error += (target - out) * (target - out);
      if (there) {
        s[k] = -2 * cost * missing;
        curvatures[(size_t)i * q + k] = is_short ? 2 * cost : 0;
      }
      add(there ? cost * missing * missing : 0, k);
    }
  } else if (kind == SQUARED_HINGE) {
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
  if (kind != SQUARED_HINGE && kind != TAUGHT) add(there ? one : 0, 0);
  add(there ? error : 0, systems);
}
// The second derivatives of rows times a direction, for losses that bind outputs together.
extern "C" __global__ void curve(const double *outputs, const double *along, const double *costs, double *out, int n, int q, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double *f = outputs + (size_t)i * stride, *d = along + (size_t)i * stride;
  double top = f[0], sum = 0, mean = 0;
  for (int k = 1; k < q; k++) top = fmax(top, f[k]);
  for (int k = 0; k < q; k++) {
    double e = exp(f[k] - top);
    sum += e, mean += e * d[k];
  }
  mean /= sum;
  for (int k = 0; k < q; k++) out[(size_t)i * stride + k] = costs[i] * exp(f[k] - top) / sum * (d[k] - mean);
}
// Whether a row has a number that is not 0: in column `group` of `columns`, or, where there are no columns for it, in any of `across`.
DEV bool taken(const double *columns, int n_columns, const double *across, int n_across, int stride, int n, int group, int i) {
  if (i >= n) return false;
  if (group < n_columns) return columns[(size_t)i * n_columns + group] != 0;
  bool any = false;
  for (int k = 0; k < n_across; k++) any |= across[(size_t)i * stride + k] != 0;
  return any;
}
// How many of each 1024 rows are taken in each group: found[group][block].
extern "C" __global__ void __launch_bounds__(1024) counted(const double *columns, int n_columns, const double *across, int n_across, int stride, int n, int *found) {
  int i = blockIdx.x * 1024 + threadIdx.x, count = __syncthreads_count(taken(columns, n_columns, across, n_across, stride, n, blockIdx.y, i));
  if (threadIdx.x == 0) found[blockIdx.y * gridDim.x + blockIdx.x] = count;
}
// The sum of numbers below 2^31 over a block of 1024 threads.
DEV int block_sum(int v, int *parts) {
  v = __reduce_add_sync(~0u, v);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  return __reduce_add_sync(~0u, parts[threadIdx.x & 31]);
}
// The rows that are taken, in their order, and how many they are, for each group.
extern "C" __global__ void __launch_bounds__(1024) chosen(const double *columns, int n_columns, const double *across, int n_across, int stride, int n, const int *found,
                                                          int *lists, int *counts) {
  __shared__ int parts[32];
  int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, group = blockIdx.y, i = blockIdx.x * 1024 + tid, before = 0;
  bool take = taken(columns, n_columns, across, n_across, stride, n, group, i);
  u32 votes = __ballot_sync(~0u, take);
  for (int b = tid; b < (int)blockIdx.x; b += 1024) before += found[group * gridDim.x + b];
  before = block_sum(before, parts);
  __syncthreads();
  if (lane == 0) parts[warp] = __popc(votes);
  __syncthreads();
  int place = before + __reduce_add_sync(~0u, lane < warp ? parts[lane] : 0) + __popc(votes & ((1u << lane) - 1));
  if (take) lists[(size_t)group * n + place] = i;
  if (blockIdx.x == gridDim.x - 1 && tid == 1023) counts[group] = place + take;
}
// Adds many parts of few numbers, a block of 256 for each.
extern "C" __global__ void __launch_bounds__(256) add_many(const double *parts, double *out, int size, int splits) {
  __shared__ double sums[8];
  double sum = 0;
  for (int s = threadIdx.x; s < splits; s += 256) sum += parts[(size_t)s * size + blockIdx.x];
  sum = warp_sum(sum);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += sums[w];
    out[blockIdx.x] = all;
  }
}
