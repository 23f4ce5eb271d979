//! The program `kernelet`.

fn main() {}
