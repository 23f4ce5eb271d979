//! The messages of ONNX that a graph needs, by their numbers in `onnx.proto` (IR version 8); all others are left out.
use prost::Message;

/// A whole file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelProto {
    #[prost(int64, optional, tag = "1")]
    pub(super) ir_version: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) producer_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) producer_version: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub(super) model_version: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub(super) doc_string: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSetIdProto>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<StringStringEntryProto>,
}

/// A set of operators and its version.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSetIdProto {
    #[prost(string, optional, tag = "1")]
    pub(super) domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub(super) version: Option<i64>,
}

/// A key and its text.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StringStringEntryProto {
    #[prost(string, optional, tag = "1")]
    pub(super) key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) value: Option<String>,
}

/// Nodes in the order in which they are computed, constants, inputs and outputs.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<NodeProto>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfoProto>,
}

/// One operator and the names of what goes in and comes out.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) op_type: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<AttributeProto>,
    #[prost(string, optional, tag = "7")]
    pub(super) domain: Option<String>,
}

/// A setting of a node.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeProto {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub(super) f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub(super) i: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(super) s: Option<Vec<u8>>,
    #[prost(message, optional, boxed, tag = "6")]
    pub(super) g: Option<Box<GraphProto>>,
    #[prost(float, repeated, tag = "7")]
    pub(super) floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub(super) strings: Vec<Vec<u8>>,
    #[prost(int32, optional, tag = "20")]
    pub(super) r#type: Option<i32>,
}

/// Kinds of attribute.
pub(super) mod attribute {
    pub(in super::super) const FLOAT: i32 = 1;
    pub(in super::super) const INT: i32 = 2;
    pub(in super::super) const STRING: i32 = 3;
    pub(in super::super) const GRAPH: i32 = 5;
    pub(in super::super) const FLOATS: i32 = 6;
    pub(in super::super) const INTS: i32 = 7;
    pub(in super::super) const STRINGS: i32 = 8;
}

/// A constant: its shape and its bytes, little-endian, or its strings.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub(super) data_type: Option<i32>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(super) string_data: Vec<Vec<u8>>,
    #[prost(string, optional, tag = "8")]
    pub(super) name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub(super) raw_data: Option<Vec<u8>>,
}

/// Kinds of number.
pub(super) mod data_type {
    pub(in super::super) const FLOAT: i32 = 1;
    pub(in super::super) const INT64: i32 = 7;
    pub(in super::super) const STRING: i32 = 8;
    pub(in super::super) const BOOL: i32 = 9;
    pub(in super::super) const DOUBLE: i32 = 11;
}

/// The name and type of an input or output.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfoProto {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<TypeProto>,
}

/// The type of a tensor; other types are left out.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorTypeProto>,
}

/// Kind of number and shape.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorTypeProto {
    #[prost(int32, optional, tag = "1")]
    pub(super) elem_type: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<DimensionProto>,
}

/// A size, or the name of one that is free.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DimensionProto {
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}
