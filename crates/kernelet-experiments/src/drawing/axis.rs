//! Where does a value lie, and which values are named? Ranges with a margin around the data, and round numbers in them.
use super::svg::{number, width};

/// Values beyond this, and on logarithmic axes below its inverse, are not drawn.
const LARGEST: f64 = 1e300;

/// The margin on either side, as a fraction of the range.
const MARGIN: f64 = 0.04;

/// Ranges narrower than this fraction of their values count as one value.
const NARROW: f64 = 1e-9;

/// An axis of a picture.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What is drawn along it, with its unit.
    pub name: String,
    /// True where equal steps are equal factors.
    pub logarithmic: bool,
}

/// The values between the ends of an axis; of their logarithms to base 10 where it is logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// A place on an axis that is marked.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Its name as markup; none for small ticks.
    pub label: Option<Label>,
}

/// A name as markup, and about how wide it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub markup: String,
    pub width: f64,
}

impl Axis {
    /// True for values that can be drawn.
    pub fn shows(&self, value: f64) -> bool {
        value.abs() <= LARGEST && (!self.logarithmic || value >= LARGEST.recip())
    }

    /// The range of all values that can be drawn, with a margin on either side; None where there are none.
    pub fn span(&self, values: impl Iterator<Item = f64>) -> Option<Span> {
        let shown = values.filter(|&value| self.shows(value)).map(|value| if self.logarithmic { value.log10() } else { value });
        let (least, most) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), value| (l.min(value), h.max(value)));
        if least > most {
            return None;
        }
        let (size, logarithmic) = (least.abs().max(most.abs()), self.logarithmic);
        let flat = most - least <= if logarithmic { NARROW } else { (NARROW * size).max(LARGEST.recip()) };
        let margin = match (flat, logarithmic) {
            (false, _) => MARGIN * (most - least),
            (true, true) => 0.5,
            (true, false) if size == 0.0 => 1.0,
            (true, false) => (0.1 * size).max(10.0 / LARGEST),
        };
        let (mut low, mut high) = (least - margin, most + margin);
        // The margin does not extend to a sign that no value has.
        if !logarithmic && least >= 0.0 {
            low = low.max(0.0);
        }
        if !logarithmic && most <= 0.0 && least < most {
            high = high.min(0.0);
        }
        Some(Span { low, high, logarithmic })
    }
}

impl Span {
    /// The plain range from `low` to `high`.
    pub fn exactly(low: f64, high: f64) -> Self {
        Span { low, high, logarithmic: false }
    }

    /// Its ends, as values.
    pub fn ends(&self) -> (f64, f64) {
        (self.value(0.0), self.value(1.0))
    }

    /// Where a value lies: 0 at the low end, 1 at the high end, what is beyond at the end.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(LARGEST.recip()).log10() } else { value };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The value that lies at `place`.
    pub fn value(&self, place: f64) -> f64 {
        let value = self.low + place * (self.high - self.low);
        if self.logarithmic { 10f64.powf(value) } else { value }
    }

    /// Round values, about `wanted` of them named.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        let decades = self.high - self.low;
        match self.logarithmic {
            true if decades > 0.7 => self.decades(wanted, decades),
            _ => {
                let (low, high) = self.ends();
                let (values, step) = steps(low, high, wanted.max(2) as f64);
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                values.into_iter().map(|value| Tick { value, label: Some(label(value, step, largest)) }).collect()
            }
        }
    }

    /// Powers of ten, with their multiples between them where there is enough space.
    fn decades(&self, wanted: usize, decades: f64) -> Vec<Tick> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let every = (decades / wanted.max(2) as f64).ceil().max(1.0) as i32;
        let plain = first >= -4 && last <= 6;
        let mut ticks = vec![];
        for power in first..=last {
            for digit in 1..10 {
                let named = match digit {
                    1 => power.rem_euclid(every) == 0,
                    2 | 5 => decades <= 3.0,
                    _ => false,
                };
                let place = f64::from(power) + f64::from(digit).log10();
                let inside = place >= self.low - NARROW && place <= self.high + NARROW;
                if inside && (named || decades <= 10.0) {
                    let value = f64::from(digit) * 10f64.powi(power);
                    let label = named.then(|| if plain { decimal(value, (-power).max(0) as usize) } else { power_of_ten(digit, power) });
                    ticks.push(Tick { value, label });
                }
            }
        }
        ticks
    }
}

/// About `wanted` multiples of a round step in a range, and the step.
fn steps(low: f64, high: f64, wanted: f64) -> (Vec<f64>, f64) {
    let raw = (high - low) / wanted;
    let power = 10f64.powf(raw.log10().floor());
    let step = power
        * match raw / power {
            r if r < 2f64.sqrt() => 1.0,
            r if r < 10f64.sqrt() => 2.0,
            r if r < 50f64.sqrt() => 5.0,
            _ => 10.0,
        };
    let (first, last) = ((low / step - NARROW).ceil(), (high / step + NARROW).floor());
    let count = (last - first).clamp(-1.0, 4.0 * wanted) + 1.0;
    ((0..count as usize).map(|i| (first + i as f64) * step + 0.0).collect(), step)
}

/// The name of a multiple of `step`: digits as the step needs them, and a power of ten where numbers are large or small.
fn label(value: f64, step: f64, largest: f64) -> Label {
    let digits = |unit: f64| (unit.log10() - step.log10() - NARROW).ceil().max(0.0) as usize;
    if value == 0.0 || (1e-3..1e6).contains(&largest) {
        return decimal(value, if value == 0.0 { 0 } else { digits(1.0) });
    }
    let power = largest.log10().floor() as i32;
    let unit = 10f64.powi(power);
    let front = decimal(value / unit, digits(unit));
    with_power(&format!("{}\u{d7}10", front.markup), power)
}

fn power_of_ten(digit: i32, power: i32) -> Label {
    with_power(&if digit == 1 { "10".into() } else { format!("{digit}\u{d7}10") }, power)
}

fn with_power(front: &str, power: i32) -> Label {
    let power = power.to_string().replace('-', "\u{2212}");
    let width = width(front) + 0.7 * width(&power);
    Label { markup: format!("{front}<tspan dy=\"-5\" font-size=\"9\">{power}</tspan>"), width }
}

/// A number with so many digits after the point, a true minus, and commas between thousands from ten thousand on.
fn decimal(value: f64, digits: usize) -> Label {
    let text = format!("{:.digits$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    let mut markup = String::from(if value < 0.0 { "\u{2212}" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            markup.push(',');
        }
        markup.push(digit);
    }
    markup += &rest;
    Label { width: width(&markup), markup }
}

/// The place of a range that a text can name.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-2..1e6).contains(&size) {
        return number(value);
    }
    format!("{value:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(logarithmic: bool) -> Axis {
        Axis { name: "x".into(), logarithmic }
    }

    fn labels(values: &[f64], logarithmic: bool) -> Vec<String> {
        let span = axis(logarithmic).span(values.iter().copied()).unwrap();
        span.ticks(6).into_iter().filter_map(|tick| tick.label).map(|label| label.markup).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(labels(&[0.0, 10.0], false), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&[-0.31, 0.12], false), ["\u{2212}0.3", "\u{2212}0.2", "\u{2212}0.1", "0", "0.1"]);
        assert_eq!(labels(&[0.0, 45_000.0], false), ["0", "10,000", "20,000", "30,000", "40,000"]);
        let power = "\u{d7}10<tspan dy=\"-5\" font-size=\"9\">7</tspan>";
        assert_eq!(labels(&[1e7, 2e7], false)[..2], [format!("1.0{power}"), format!("1.2{power}")]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_or_their_simple_multiples() {
        assert_eq!(labels(&[0.01, 100.0], true), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&[3.0, 60.0], true), ["5", "10", "20", "50"]);
        assert_eq!(labels(&[1.0, 1e9], true)[1], "10<tspan dy=\"-5\" font-size=\"9\">2</tspan>");
        assert_eq!(labels(&[1.0, 1.5], true), ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]);
    }

    #[test]
    fn places_run_from_end_to_end_and_back() {
        for logarithmic in [false, true] {
            let span = axis(logarithmic).span([2.0, 3.0, 50.0].into_iter()).unwrap();
            let places = [2.0, 3.0, 50.0].map(|value| span.place(value));
            assert!(0.0 < places[0] && places[0] < places[1] && places[1] < places[2] && places[2] < 1.0);
            assert!((span.value(places[1]) - 3.0).abs() < 1e-12);
            assert_eq!((span.place(-1e9), span.place(1e9)), (0.0, 1.0));
        }
    }

    #[test]
    fn strange_values_have_sensible_axes() {
        for values in
            [vec![0.0], vec![5.0], vec![-3.0, -3.0], vec![1e300, -1e300], vec![1e-310], vec![1e16, 1e16 + 2.0], vec![f64::NAN, 2.0]]
        {
            let span = axis(false).span(values.iter().copied()).unwrap();
            let (ticks, (low, high)) = (span.ticks(6), span.ends());
            assert!(low < high && (2..=12).contains(&ticks.len()), "{values:?}: {ticks:?}");
            assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{values:?}");
        }
        for values in [vec![1e-300, 1e300], vec![7.0], vec![1.0, 1.0 + 1e-12], vec![0.0, -4.0, 3.0]] {
            assert!(axis(true).span(values.iter().copied()).unwrap().ticks(6).len() >= 2, "{values:?}");
        }
        assert!(axis(false).span([f64::INFINITY, f64::NAN].into_iter()).is_none());
        assert!(axis(true).span([0.0, -1.0].into_iter()).is_none());
    }
}
