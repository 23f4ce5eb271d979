//! Settings of learners that are read from words.
use kernelet::{
    data::Label,
    learn::{ClassWeights, Multiclass, Penalty, Threshold},
};

/// Reads how several classes become two-class problems.
pub fn multiclass(name: &str) -> std::result::Result<Multiclass, &'static str> {
    Multiclass::named(name).ok_or("there are one-vs-one, one-vs-rest, ecoc and, with a budget of vectors, shared")
}

/// Reads what a discriminant penalises.
pub fn penalty(name: &str) -> std::result::Result<Penalty, String> {
    Penalty::named(name).ok_or_else(|| format!("there are {}", Penalty::NAMES.join(", ")))
}

/// Reads how a threshold is chosen.
pub fn bias(name: &str) -> std::result::Result<Threshold, String> {
    Threshold::named(name, 1.0).ok_or_else(|| format!("there are {}", Threshold::NAMES.join(", ")))
}

/// Reads `balanced`, or a weight for each class.
pub fn class_weights(text: &str) -> std::result::Result<ClassWeights, String> {
    if text == "balanced" {
        return Ok(ClassWeights::Balanced);
    }
    let pair = |part: &str| {
        let (label, weight) = part.rsplit_once('=')?;
        Some((Label::new(label), weight.parse().ok()?))
    };
    let pairs: Option<Vec<(Label, f64)>> = text.split(',').map(pair).collect();
    pairs.map(ClassWeights::Given).ok_or_else(|| "write balanced, or LABEL=WEIGHT for each class, with commas between them".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_are_read_by_label() {
        assert_eq!(class_weights("balanced"), Ok(ClassWeights::Balanced));
        let given = ClassWeights::Given(vec![(Label::new("a=b"), 2.0), (Label::new("-1"), 0.5)]);
        assert_eq!(class_weights("a=b=2,-1=0.5"), Ok(given));
        assert!(class_weights("a").is_err() && class_weights("a=x").is_err() && class_weights("").is_err());
    }
}
