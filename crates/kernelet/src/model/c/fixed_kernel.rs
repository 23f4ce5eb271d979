//! The kernel in whole numbers, in C; the arithmetic is that of `model::fixed`, to the last bit.
use super::numbers::Arrays;
use crate::model::fixed::{Body, Curve, Fixed, VALUE_BITS, Values, Width};

/// The type of a sum.
pub(super) fn sum_type(width: Width) -> &'static str {
    match width {
        Width::I8 => "int32_t",
        Width::I16 => "int64_t",
    }
}

/// The type of products that are never negative.
pub(super) fn wide_type(width: Width) -> &'static str {
    match width {
        Width::I8 => "uint32_t",
        Width::I16 => "uint64_t",
    }
}

/// `@kernel(x, j)`, where there are vectors, and the arrays it needs.
pub(super) fn source(fixed: &Fixed, arrays: &mut Arrays) -> String {
    match &fixed.body {
        Body::Expansion { vectors, values, .. } if !vectors.is_empty() => {
            let place = if fixed.map.is_some() { "$MAPPED" } else { "$FEATURES" };
            let (before, curve) = curve(values, fixed.width, arrays);
            format!(
                "{before}/* The kernel of a row and vector j, {VALUE_BITS} bits after the point. */\nstatic int32_t @kernel(const @input *x, int32_t j)\n{{\n    \
                 const @input *z = @vectors[j];\n{}{curve}}}\n",
                argument(values, fixed.width, place)
            )
        }
        _ => String::new(),
    }
}

/// Lines that make `u`, the squared distance, or `size` and `negative`, the product with its constant.
fn argument(values: &Values, width: Width, place: &str) -> String {
    match &values.constants {
        None => format!(
            "    {wide} u = 0;\n    for (int i = 0; i < {place}; i++) {{\n        const uint32_t difference = (uint32_t)((int32_t)x[i] - z[i]);\n        \
             u += difference * difference;\n    }}\n",
            wide = wide_type(width),
        ),
        Some(_) => format!(
            "    {sum} u = 0;\n    for (int i = 0; i < {place}; i++) {{\n        u += (int32_t)x[i] * z[i];\n    }}\n    \
             const int64_t argument = u + @constants[j];\n    const int negative = argument < 0;\n    \
             uint64_t size = negative ? 0 - (uint64_t)argument : (uint64_t)argument;\n",
            sum = sum_type(width),
        ),
    }
}

/// What stands before the kernel, and the lines that return its value.
fn curve(values: &Values, width: Width, arrays: &mut Arrays) -> (String, String) {
    let (wide, bits) = (wide_type(width), width.bits());
    let limited = |limit: &u64| format!("    if (size > {limit}u) {{\n        size = {limit}u;\n    }}\n");
    match &values.curve {
        Curve::Gaussian { cut, coarse, rate, drop, terms } => {
            let list: Vec<i64> = terms.iter().rev().map(|&term| term as i64).collect();
            arrays.whole("uint32_t", 4, "terms", &list.len().to_string(), &list);
            let exponential = format!(
                "    if (u >= {cut}u) {{\n        return 0;\n    }}\n    /* 2^-t: a polynomial for what is behind the point of t, a shift for the rest. */\n    \
                 const {wide} t = ((u >> {coarse}) * {rate}u) >> {drop};\n    const {wide} rest = t & {mask}u;\n    {wide} power = @terms[0];\n    \
                 for (int i = 1; i < {count}; i++) {{\n        power = @terms[i] - ((power * rest) >> {bits});\n    }}\n    \
                 return (int32_t)(((power >> ({less} + (t >> {bits}))) + 1) >> 1);\n",
                mask = (1u64 << bits) - 1,
                count = list.len(),
                less = bits - VALUE_BITS - 1,
            );
            (String::new(), exponential)
        }
        Curve::Table { coarse, last, table } => {
            let look = format!("    u >>= {coarse};\n    return (int32_t)@look_up(u < {last}u ? u : {last}u);\n");
            (look_up(table, width, arrays), look)
        }
        Curve::Odd { limit, rate, drop, table } => {
            let look = format!(
                "{}    const int32_t value = {one} - (int32_t)@look_up(({wide})((size * {rate}u) >> {drop}));\n    return negative ? -value : value;\n",
                limited(limit),
                one = 1 << VALUE_BITS,
            );
            (look_up(table, width, arrays), look)
        }
        Curve::Power { limit, rate, drop, degree } => {
            let sign = if degree % 2 == 1 { "negative ? -value : value" } else { "value" };
            let unused = if degree % 2 == 1 { "" } else { "    (void)negative;\n" };
            let power = format!(
                "{unused}{}    const uint64_t base = (size * {rate}u) >> {drop};\n    uint64_t power = base;\n    for (int i = 1; i < {degree}; i++) {{\n        \
                 power = (power * base) >> {bits};\n    }}\n    const int32_t value = (int32_t)(((power >> {less}) + 1) >> 1);\n    return {sign};\n",
                limited(limit),
                less = bits - VALUE_BITS - 1,
            );
            (String::new(), power)
        }
    }
}

/// `@look_up(place)`: the table between its points.
fn look_up(table: &[u16], width: Width, arrays: &mut Arrays) -> String {
    let list: Vec<i64> = table.iter().map(|&value| i64::from(value)).collect();
    arrays.whole("uint16_t", 2, "table", &list.len().to_string(), &list);
    let (wide, points) = (wide_type(width), width.table().1);
    format!(
        "/* A table with {} points for each doubling, straight between them. */\nstatic {wide} @look_up({wide} place)\n{{\n    int octave = 0;\n    \
         while (place >> octave >= {}u) {{\n        octave++;\n    }}\n    const uint16_t *at = @table + ((uint32_t)octave << {points}) + (place >> octave);\n    \
         const {wide} rest = place & ((({wide})1 << octave) - 1);\n    return at[0] - ((({wide})(at[0] - at[1]) * rest) >> octave);\n}}\n\n",
        1 << points,
        2 << points,
    )
}
