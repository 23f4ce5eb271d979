// The axes of curves: the size of a drawing, and where numbers are in it.
const W = 360, H = 230, LEFT = 52, RIGHT = 8, TOP = 10, BOTTOM = 34;
const steps = (low, high, those = [1, 2, 5]) => {
  const found = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power++)
    for (const digit of those) {
      const value = digit * Math.pow(10, power);
      if (value >= low * .999 && value <= high * 1.001) found.push(Number(value.toPrecision(1)));
    }
  if (found.length < 3 && those.length === 3) return steps(low, high, [1, 2, 3, 4, 6, 8]);
  const tens = found.filter(value => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9);
  return found.length > 6 && tens.length > 1 ? tens.length > 7 ? tens.filter((_, i) => i % Math.ceil(tens.length / 6) === 0) : tens : found;
};
/* A logarithmic axis over numbers above 0, linear where they are near each other. */
const axis = values => {
  let low = Math.min(...values), high = Math.max(...values);
  if (high <= low) { low = low / 2; high = high * 2; }
  if (high / low < 3) {
    const unit = Math.pow(10, Math.floor(Math.log10((high - low) / 2)));
    const step = [1, 2, 5, 10].map(digit => digit * unit).find(width => (high - low) / width <= 5);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) ticks.push(Number(tick.toPrecision(6)));
    return { place: value => (value - low) / (high - low), ticks };
  }
  return { place: value => Math.log(value / low) / Math.log(high / low), ticks: steps(low, high) };
};
