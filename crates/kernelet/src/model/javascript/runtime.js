const squaredDistance = (x, z, at) => {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    const difference = x[i] - z[at + i];
    sum += difference * difference;
  }
  return sum;
};

const product = (x, z, at) => {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    sum += x[i] * z[at + i];
  }
  return sum;
};

const kernels = {
  gaussian: (k, x, z, at) => Math.exp(-k.gamma * squaredDistance(x, z, at)),
  exponential: (k, x, z, at) => Math.exp(-k.gamma * Math.sqrt(squaredDistance(x, z, at))),
  matern32: (k, x, z, at) => {
    const r = k.gamma * Math.sqrt(squaredDistance(x, z, at));
    return (1 + r) * Math.exp(-r);
  },
  matern52: (k, x, z, at) => {
    const r = k.gamma * Math.sqrt(squaredDistance(x, z, at));
    return (1 + r + (r * r) / 3) * Math.exp(-r);
  },
  matern72: (k, x, z, at) => {
    const r = k.gamma * Math.sqrt(squaredDistance(x, z, at));
    return (1 + r * (1 + r * (0.4 + r / 15))) * Math.exp(-r);
  },
  "inverse-multiquadric": (k, x, z, at) => Math.pow(1 + k.gamma * squaredDistance(x, z, at), k.exponent ?? -0.5),
  polynomial: (k, x, z, at) => Math.pow(k.gamma * product(x, z, at) + k.coef0, k.degree),
  sigmoid: (k, x, z, at) => Math.tanh(k.gamma * product(x, z, at) + k.coef0),
  linear: (k, x, z, at) => product(x, z, at),
  precomputed: (k, x, z, at) => product(x, z, at),
};

/** Throws a sentence where the row is not one of this machine. */
const check = (row) => {
  if (row.length !== model.features) {
    throw new RangeError(`a row has ${row.length} numbers, but the machine takes ${model.features}`);
  }
  for (let i = 0; i < row.length; i++) {
    if (!Number.isFinite(row[i])) {
      throw new RangeError(`number ${i + 1} of the row is ${row[i]}; every number must be finite`);
    }
  }
};

/** The row as the kernel sees it. */
const scaled = (row) => {
  const x = Float64Array.from(row);
  for (let i = 0; model.factor && i < x.length; i++) {
    x[i] = (model.shift ? x[i] - model.shift[i] : x[i]) * model.factor[i];
  }
  return model.map ? Float64Array.from({ length: model.width }, (_, k) => product(x, model.map, k * x.length)) : x;
};

const kernelValues = (row) => {
  const x = scaled(row);
  const kernel = kernels[model.kernel.name];
  return Float64Array.from({ length: model.vectorCount }, (_, j) => kernel(model.kernel, x, model.vectors, j * model.width));
};

/** The outputs of a row as it was measured: decision values, predicted numbers or features. */
export const outputs = (row) => {
  check(row);
  const values = kernelValues(row);
  const sums = Float64Array.from(model.offsets);
  const stored = model.coefficients.length / Math.max(model.vectorCount, 1);
  if (!model.starts) {
    values.forEach((value, j) => {
      for (let k = 0; k < sums.length; k++) {
        sums[k] += model.coefficients[j * stored + k] * value;
      }
    });
    return sums;
  }
  // One-vs-one: a vector of class c has a coefficient for each other class.
  const classes = stored + 1;
  const pair = (a, b) => (a * (2 * classes - a - 1)) / 2 + b - a - 1;
  for (let c = 0; c < classes; c++) {
    for (let j = model.starts[c]; j < model.starts[c + 1]; j++) {
      for (let other = 0; other < classes; other++) {
        if (other < c) {
          sums[pair(other, c)] += model.coefficients[j * stored + other] * values[j];
        } else if (other > c) {
          sums[pair(c, other)] += model.coefficients[j * stored + other - 1] * values[j];
        }
      }
    }
  }
  return sums;
};

const firstLargest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

const rules = {
  sign: (f) => (f[0] > 0 ? 1 : 0),
  novelty: (f) => (f[0] > 0 ? 1 : 0),
  largest: (f) => firstLargest(f),
  votes: (f) => {
    const votes = model.labels.map(() => 0);
    let k = 0;
    for (let a = 0; a < votes.length; a++) {
      for (let b = a + 1; b < votes.length; b++) {
        votes[f[k++] > 0 ? a : b]++;
      }
    }
    return firstLargest(votes);
  },
  codes: (f) => firstLargest(model.words.map((word) => word.reduce((sum, sign, k) => sum + Math.min(sign * f[k] - 1, 0), 0))),
};

/** The label of a row; for machines that predict numbers, the numbers. */
export const predict = (row) => {
  const f = outputs(row);
  switch (model.rule) {
    case "values":
    case "features":
      return f;
    case "ratio":
      return f.subarray(0, f.length - 1).map((value) => value / f[f.length - 1]);
    default:
      return model.labels[rules[model.rule](f)];
  }
};

const sigmoid = (x) => (x >= 0 ? Math.exp(-x) / (1 + Math.exp(-x)) : 1 / (1 + Math.exp(x)));

const curveAt = (curve, output) => {
  const { outputs: x, probabilities: p } = curve;
  const right = x.findIndex((value) => value >= output);
  if (right <= 0) {
    return right === 0 ? p[0] : p[p.length - 1];
  }
  return p[right - 1] + ((output - x[right - 1]) / (x[right] - x[right - 1])) * (p[right] - p[right - 1]);
};

const clamp = (p) => Math.min(Math.max(p, 1e-7), 1 - 1e-7);

const positive = {
  sigmoid: (c, f, k) => clamp(sigmoid(c.a[k] * f + c.b[k])),
  isotonic: (c, f, k) => clamp(curveAt(c.curves[k], f)),
  marks: (c, f) => {
    const place = c.marks.filter((mark) => mark <= f).length;
    return place === 0 ? 0.001 : place === c.marks.length ? 0.999 : place / c.marks.length;
  },
  shares: (c, f) => Math.max(f, 0),
};

const normalClasses = (c, f) => {
  const scores = c.constants.map((constant, i) => {
    const apart = Array.from(f, (value, k) => value - c.means[i][k]);
    const precision = c.precisions[Math.min(i, c.precisions.length - 1)];
    return constant - 0.5 * apart.reduce((sum, a, k) => sum + a * product(apart, precision, k * apart.length), 0);
  });
  const most = Math.max(...scores);
  if (!Number.isFinite(most)) {
    return scores.map(() => 1 / scores.length);
  }
  const parts = scores.map((score) => Math.exp(score - most));
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
};

/** Probabilities of the classes from those of the pairs, by the iteration of LIBSVM. */
const couple = (pairs, n) => {
  const q = new Float64Array(n * n);
  let k = 0;
  for (let a = 0; a < n; a++) {
    for (let b = a + 1; b < n; b++) {
      const p = pairs[k++];
      q[a * n + a] += (1 - p) * (1 - p);
      q[b * n + b] += p * p;
      q[a * n + b] = q[b * n + a] = -(1 - p) * p;
    }
  }
  const p = new Array(n).fill(1 / n);
  for (let round = 0; round < Math.max(100, n); round++) {
    const products = p.map((_, a) => product(p, q, a * n));
    let value = products.reduce((sum, entry, a) => sum + entry * p[a], 0);
    if (products.every((entry) => Math.abs(entry - value) < 0.005 / n)) {
      break;
    }
    for (let a = 0; a < n; a++) {
      const step = (value - products[a]) / q[a * n + a];
      const whole = 1 + step;
      p[a] += step;
      value = (value + step * (step * q[a * n + a] + 2 * products[a])) / whole / whole;
      for (let b = 0; b < n; b++) {
        products[b] = (products[b] + step * q[a * n + b]) / whole;
        p[b] /= whole;
      }
    }
  }
  return p;
};

/** The probability of each class, in the order of the labels; null where the machine has none. */
export const probabilities = (row) => {
  const c = model.calibration;
  if (!c || model.labels.length === 0) {
    return null;
  }
  const f = outputs(row);
  if (c.kind === "normal-classes") {
    return normalClasses(c, f);
  }
  const p = Array.from(f, (value, k) => positive[c.kind](c, value, k));
  if (model.rule === "votes") {
    return couple(p, model.labels.length);
  }
  if (model.rule === "largest") {
    const sum = p.reduce((a, b) => a + b);
    return p.map((value) => (sum > 0 ? value / sum : 1 / p.length));
  }
  return [1 - p[0], p[0]];
};

/** The standard deviation of each predicted number; null where it is not known. */
export const deviations = (row) => {
  const c = model.calibration;
  if (!c || model.rule !== "values") {
    return null;
  }
  if (c.kind === "sigmoid") {
    return c.a.map((a) => Math.SQRT2 * Math.abs(a));
  }
  check(row);
  const values = kernelValues(row);
  return c.posteriors.map((posterior) => {
    const terms = posterior.vectors.map((j) => values[j]).concat(posterior.offset ? [1] : []);
    const sums = terms.map(() => 0);
    let at = 0;
    terms.forEach((term, i) => {
      for (let k = 0; k <= i; k++) {
        sums[k] += posterior.factor[at++] * term;
      }
    });
    return Math.sqrt(posterior.noise + sums.reduce((sum, value) => sum + value * value, 0));
  });
};

/** How many numbers a row has, their names where they are known, and the labels where classes are predicted. */
export const features = model.features;
export const names = model.names;
export const labels = model.labels;
