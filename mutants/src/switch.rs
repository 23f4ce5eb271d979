//! A source file with a switch around every operator, negation and function body.
//!
//! `a + b` becomes `match (a, b) { (l, r) => if on(7) { l - r } else if on(8) { l * r } else { l + r } }`: operands are evaluated once, and
//! what they borrow lives as long as before.
use std::collections::BTreeSet;

use quote::quote;
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprRepeat, ExprUnary, ImplItemConst, ImplItemFn, ItemConst, ItemFn, ItemMod, ItemStatic, Pat,
    ReturnType, Signature, Type, UnOp, parse_quote, spanned::Spanned, visit_mut, visit_mut::VisitMut,
};

/// Appended to the library: is this mutant the one that is tested?
pub const ACTIVE: &str = r#"
/// Mutation testing.
#[allow(missing_docs)]
pub mod mutant {
    static ACTIVE: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| std::env::var("KERNELET_MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0));
    #[inline]
    pub fn on(id: u32) -> bool {
        *ACTIVE == id
    }
}
"#;

/// One change of one place.
pub struct Mutant {
    /// From 1; 0 is the program as it is.
    pub id: u32,
    pub file: String,
    pub line: usize,
    pub what: String,
}

/// The source of `file` with its mutants, which are appended to the list; those excluded keep their numbers and have no switch.
pub fn switch(file: &str, source: &str, mutants: &mut Vec<Mutant>, excluded: &BTreeSet<u32>) -> syn::Result<String> {
    let mut tree = syn::parse_file(source)?;
    Switch { file, mutants, excluded }.visit_file_mut(&mut tree);
    Ok(prettyplease::unparse(&tree))
}

/// The mutant whose switch stands nearest at or above a line.
pub fn mutant_at(source: &str, line: usize) -> Option<u32> {
    let above: Vec<&str> = source.lines().take(line).collect();
    let text = above.iter().rev().find_map(|text| text.rsplit_once("mutant::on("))?.1;
    text.split('u').next()?.parse().ok()
}

struct Switch<'a> {
    file: &'a str,
    mutants: &'a mut Vec<Mutant>,
    excluded: &'a BTreeSet<u32>,
}

impl Switch<'_> {
    fn add(&mut self, line: usize, what: String) -> Option<Expr> {
        let id = self.mutants.len() as u32 + 1;
        self.mutants.push(Mutant { id, file: self.file.into(), line, what });
        (!self.excluded.contains(&id)).then(|| parse_quote!(crate::mutant::on(#id)))
    }

    fn binary(&mut self, expr: &ExprBinary) -> Option<Expr> {
        let (kind, others) = others(&expr.op)?;
        let (left, right, op) = (&expr.left, &expr.right, &expr.op);
        let line = op.span().start().line;
        let mut arms = vec![];
        for other in others {
            if let Some(on) = self.add(line, format!("{} -> {}", text(op), text(&other))) {
                arms.push((on, other));
            }
        }
        if arms.is_empty() {
            return None;
        }
        let chain = |left: Expr, right: Expr| {
            let first: Expr = parse_quote!({ #left #op #right });
            arms.iter().rev().fold(first, |rest, (on, other)| parse_quote!({ if #on { #left #other #right } else #rest }))
        };
        Some(match kind {
            Kind::Value => {
                let chain = chain(parse_quote!(l), parse_quote!(r));
                parse_quote!((match (#left, #right) { (l, r) => #chain }))
            }
            Kind::Comparison => {
                let chain = chain(parse_quote!(l), parse_quote!(r));
                parse_quote!((match (&(#left), &(#right)) { (l, r) => #chain }))
            }
            Kind::Lazy => {
                let chain = chain(parse_quote!(l), parse_quote!((#right)));
                parse_quote!((match #left { l => #chain }))
            }
            Kind::Assignment => {
                let chain = chain((**left).clone(), parse_quote!(r));
                parse_quote!((match #right { r => #chain }))
            }
        })
    }

    fn function(&mut self, signature: &Signature, block: &mut Block) {
        if signature.constness.is_some() {
            return;
        }
        visit_mut::visit_block_mut(self, block);
        let line = signature.ident.span().start().line;
        for value in values(&signature.output).into_iter().rev() {
            let what = format!("{} returns {}", signature.ident, quote!(#value));
            if let Some(on) = self.add(line, what) {
                block.stmts.insert(0, parse_quote!(if #on { return #value; }));
            }
        }
    }
}

impl VisitMut for Switch<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if holds_let(expr) {
            return visit_mut::visit_expr_mut(self, expr);
        }
        visit_mut::visit_expr_mut(self, expr);
        let switched = match &*expr {
            Expr::Binary(binary) => self.binary(binary),
            Expr::Unary(ExprUnary { op: op @ (UnOp::Neg(_) | UnOp::Not(_)), expr: inner, .. }) if !matches!(**inner, Expr::Lit(_)) => {
                let line = op.span().start().line;
                self.add(line, format!("{} removed", quote!(#op)))
                    .map(|on| parse_quote!((match #inner { x => if #on { x } else { #op x } })))
            }
            _ => None,
        };
        if let Some(switched) = switched {
            *expr = switched;
        }
    }

    fn visit_item_fn_mut(&mut self, item: &mut ItemFn) {
        if !for_tests(&item.attrs) {
            self.function(&item.sig, &mut item.block);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut ImplItemFn) {
        self.function(&item.sig, &mut item.block);
    }

    fn visit_item_mod_mut(&mut self, item: &mut ItemMod) {
        if !for_tests(&item.attrs) {
            visit_mut::visit_item_mod_mut(self, item);
        }
    }

    fn visit_expr_repeat_mut(&mut self, repeat: &mut ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    // What the compiler must know beforehand stays as it is.
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_item_const_mut(&mut self, _: &mut ItemConst) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut ImplItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut ItemStatic) {}
}

/// `if let` chains bind names that a switch would hide.
fn holds_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => matches!(binary.op, BinOp::And(_)) && (holds_let(&binary.left) || holds_let(&binary.right)),
        _ => false,
    }
}

fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| quote!(#attribute).to_string().contains("test"))
}

fn text(op: &BinOp) -> String {
    quote!(#op).to_string()
}

enum Kind {
    Value,
    Comparison,
    Lazy,
    Assignment,
}

/// What may stand in place of an operator.
fn others(op: &BinOp) -> Option<(Kind, Vec<BinOp>)> {
    let (kind, names): (Kind, &[&str]) = match op {
        BinOp::Add(_) => (Kind::Value, &["-", "*"]),
        BinOp::Sub(_) => (Kind::Value, &["+", "/"]),
        BinOp::Mul(_) => (Kind::Value, &["+", "/"]),
        BinOp::Div(_) => (Kind::Value, &["%", "*"]),
        BinOp::Rem(_) => (Kind::Value, &["/", "+"]),
        BinOp::BitAnd(_) => (Kind::Value, &["|", "^"]),
        BinOp::BitOr(_) => (Kind::Value, &["&", "^"]),
        BinOp::BitXor(_) => (Kind::Value, &["|", "&"]),
        BinOp::Shl(_) => (Kind::Value, &[">>"]),
        BinOp::Shr(_) => (Kind::Value, &["<<"]),
        BinOp::Eq(_) => (Kind::Comparison, &["!="]),
        BinOp::Ne(_) => (Kind::Comparison, &["=="]),
        BinOp::Lt(_) => (Kind::Comparison, &["==", ">", "<="]),
        BinOp::Gt(_) => (Kind::Comparison, &["==", "<", ">="]),
        BinOp::Le(_) => (Kind::Comparison, &[">"]),
        BinOp::Ge(_) => (Kind::Comparison, &["<"]),
        BinOp::And(_) => (Kind::Lazy, &["||"]),
        BinOp::Or(_) => (Kind::Lazy, &["&&"]),
        BinOp::AddAssign(_) => (Kind::Assignment, &["-=", "*="]),
        BinOp::SubAssign(_) => (Kind::Assignment, &["+=", "/="]),
        BinOp::MulAssign(_) => (Kind::Assignment, &["+=", "/="]),
        BinOp::DivAssign(_) => (Kind::Assignment, &["%=", "*="]),
        _ => return None,
    };
    Some((kind, names.iter().filter_map(|name| syn::parse_str(name).ok()).collect()))
}

/// What a function could return without doing anything.
fn values(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, kind) = output else {
        return vec![parse_quote!(())];
    };
    let name = quote!(#kind).to_string().replace(' ', "");
    match name.as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "usize" | "u64" | "u32" | "u16" | "u8" => vec![parse_quote!(0), parse_quote!(1)],
        "f64" | "f32" => vec![parse_quote!(0.0), parse_quote!(1.0), parse_quote!(-1.0)],
        "String" => vec![parse_quote!(String::new())],
        "Result<()>" => vec![parse_quote!(Ok(()))],
        name if name.starts_with("Vec<") => vec![parse_quote!(vec![])],
        name if name.starts_with("Option<") => vec![parse_quote!(None)],
        _ => vec![],
    }
}
