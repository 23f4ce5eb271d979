//! A graph that grows node by node: each call adds one operator and gives the name of its result.
use super::message::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    attribute, data_type,
};
use crate::{linalg::Matrix, model::Precision};

/// The graph so far.
pub(super) struct Graph {
    /// Nodes, constants, inputs and outputs.
    pub(super) proto: GraphProto,
    /// Of all numbers that are not whole.
    pub(super) precision: Precision,
    next: usize,
    prefix: &'static str,
}

impl Graph {
    /// An empty graph; names inside begin with `prefix`, so that those of a graph within a graph are its own.
    pub(super) fn new(precision: Precision, prefix: &'static str) -> Self {
        let proto = GraphProto { name: Some(format!("{prefix}kernelet")), ..GraphProto::default() };
        Graph { proto, precision, next: 0, prefix }
    }

    /// The type of the numbers.
    pub(super) fn real(&self) -> i32 {
        match self.precision {
            Precision::F32 => data_type::FLOAT,
            Precision::F64 => data_type::DOUBLE,
        }
    }

    fn fresh(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{}{what}_{}", self.prefix, self.next)
    }

    /// An operator with one result.
    pub(super) fn op(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        let output = self.fresh(&op.to_ascii_lowercase());
        self.op_to(op, "", inputs, &[&output], attributes);
        output
    }

    /// An operator whose results are named; `domain` is empty for those of ONNX itself.
    pub(super) fn op_to(&mut self, op: &str, domain: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<AttributeProto>) {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        self.proto.node.push(NodeProto {
            input: names(inputs),
            output: names(outputs),
            name: Some(format!("make_{}", outputs.first().copied().unwrap_or_default())),
            op_type: Some(op.into()),
            attribute: attributes,
            domain: (!domain.is_empty()).then(|| domain.into()),
        });
    }

    /// A constant of real numbers.
    pub(super) fn constant(&mut self, what: &str, dims: &[usize], values: &[f64]) -> String {
        let raw = match self.precision {
            Precision::F32 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
            Precision::F64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        let kind = self.real();
        self.tensor(what, kind, dims, raw)
    }

    /// A constant matrix.
    pub(super) fn matrix(&mut self, what: &str, values: &Matrix) -> String {
        self.constant(what, &[values.rows(), values.cols()], values.values())
    }

    /// One real number.
    pub(super) fn number(&mut self, value: f64) -> String {
        self.constant("number", &[], &[value])
    }

    /// A constant of whole numbers.
    pub(super) fn whole(&mut self, what: &str, dims: &[usize], values: &[i64]) -> String {
        self.tensor(what, data_type::INT64, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// A constant that is true.
    pub(super) fn truth(&mut self) -> String {
        self.tensor("true", data_type::BOOL, &[], vec![1])
    }

    /// A constant of texts.
    pub(super) fn texts(&mut self, what: &str, texts: &[String]) -> String {
        let name = self.fresh(what);
        self.proto.initializer.push(TensorProto {
            dims: vec![texts.len() as i64],
            data_type: Some(data_type::STRING),
            string_data: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
            name: Some(name.clone()),
            raw_data: None,
        });
        name
    }

    fn tensor(&mut self, what: &str, kind: i32, dims: &[usize], raw: Vec<u8>) -> String {
        let name = self.fresh(what);
        self.proto.initializer.push(TensorProto {
            dims: dims.iter().map(|&dim| dim as i64).collect(),
            data_type: Some(kind),
            string_data: vec![],
            name: Some(name.clone()),
            raw_data: Some(raw),
        });
        name
    }

    /// Declares an input of the graph.
    pub(super) fn input(&mut self, name: &str, kind: i32, dims: Option<&[Dim]>) {
        self.proto.input.push(value_info(name, kind, dims));
    }

    /// Makes `value` an output of the graph under this name.
    pub(super) fn output(&mut self, value: &str, name: &str, kind: i32, dims: Option<&[Dim]>) {
        self.op_to("Identity", "", &[value], &[name], vec![]);
        self.proto.output.push(value_info(name, kind, dims));
    }
}

/// A size of an input or output.
#[derive(Clone, Copy)]
pub(super) enum Dim {
    /// As many as there are rows.
    Rows,
    /// This many.
    Fixed(usize),
}

fn value_info(name: &str, kind: i32, dims: Option<&[Dim]>) -> ValueInfoProto {
    let dim = |dim: &Dim| match dim {
        Dim::Rows => DimensionProto { dim_value: None, dim_param: Some("rows".into()) },
        Dim::Fixed(size) => DimensionProto { dim_value: Some(*size as i64), dim_param: None },
    };
    let shape = dims.map(|dims| TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(kind), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type }) }
}

fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..AttributeProto::default() }
}

/// A whole number.
pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, attribute::INT) }
}

/// Whole numbers.
pub(super) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, attribute::INTS) }
}

/// A number.
pub(super) fn float(name: &str, value: f64) -> AttributeProto {
    AttributeProto { f: Some(value as f32), ..attribute(name, attribute::FLOAT) }
}

/// Numbers.
pub(super) fn floats(name: &str, values: impl IntoIterator<Item = f64>) -> AttributeProto {
    AttributeProto { floats: values.into_iter().map(|value| value as f32).collect(), ..attribute(name, attribute::FLOATS) }
}

/// A text.
pub(super) fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.into()), ..attribute(name, attribute::STRING) }
}

/// Texts.
pub(super) fn texts(name: &str, values: &[String]) -> AttributeProto {
    AttributeProto { strings: values.iter().map(|value| value.as_bytes().to_vec()).collect(), ..attribute(name, attribute::STRINGS) }
}

/// A graph within a node.
pub(super) fn body(name: &str, graph: Graph) -> AttributeProto {
    AttributeProto { g: Some(Box::new(graph.proto)), ..attribute(name, attribute::GRAPH) }
}
