// Vectors of a descent by L-BFGS, in fp64: sums of some, inner products, and the largest absolute value.
//
// Products are made in parts of 4096 numbers, a block for each, whose threads add every 256th number; parts are added in their order.
enum { LISTED_AT_ONCE = 64, PART = 4096 };

// Vectors with their factors, or pairs of vectors.
struct Terms { const double *at[LISTED_AT_ONCE]; double factor[LISTED_AT_ONCE]; };
struct Pairs { const double *x[LISTED_AT_ONCE], *y[LISTED_AT_ONCE]; };

// The sum of some vectors times their factors; each number divided by that of `divisor` where there is one.
extern "C" __global__ void __launch_bounds__(256) combined(const __grid_constant__ Terms terms, int count, const double *divisor, double *out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int t = 0; t < count; t++) sum += terms.factor[t] * terms.at[t][i];
  out[i] = divisor ? sum / divisor[i] : sum;
}
// Parts of the inner products of pairs: parts[part][pair].
extern "C" __global__ void __launch_bounds__(256) paired(const __grid_constant__ Pairs pairs, double *parts, int n) {
  __shared__ double sums[8];
  const double *x = pairs.x[blockIdx.y], *y = pairs.y[blockIdx.y];
  int first = blockIdx.x * PART, last = min(first + PART, n);
  double sum = 0;
  for (int i = first + threadIdx.x; i < last; i += 256) sum += x[i] * y[i];
  sum = warp_sum(sum);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += sums[w];
    parts[(size_t)blockIdx.x * gridDim.y + blockIdx.y] = all;
  }
}
// The largest absolute value of each part.
extern "C" __global__ void __launch_bounds__(256) largest(const double *x, double *parts, int n) {
  __shared__ double found[8];
  int first = blockIdx.x * PART, last = min(first + PART, n);
  double most = 0;
  for (int i = first + threadIdx.x; i < last; i += 256) most = fmax(most, fabs(x[i]));
  for (int o = 16; o; o >>= 1) most = fmax(most, __shfl_xor_sync(~0u, most, o));
  if ((threadIdx.x & 31) == 0) found[threadIdx.x >> 5] = most;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 0; w < 8; w++) most = fmax(most, found[w]);
    parts[blockIdx.x] = most;
  }
}
// Each number `times` times.
extern "C" __global__ void __launch_bounds__(256) repeated(const double *each, double *out, int times, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = each[i / times];
}
