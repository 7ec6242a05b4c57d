//! Binomial gather, a fold at rank 0, and a binomial broadcast.
//!
//! ```text
//! n = 8      0<1 2<3 4<5 6<7     vectors travel up the tree, uncombined
//!            0<<<2   4<<<6
//!            0<<<<<<<4           then rank 0: ((x0 op x1) op x2) op ...
//!            0>>>>>>>4           and the result back down
//! ```
//!
//! Steps: `2 ceil(log2 n)`. Bytes: `(n - 1) m` into rank 0, `m ceil(log2 n)` out of it. Scratch at rank 0: `n m`.
//! Only rank 0 has a schedule of `O(n)` steps. Chosen: tiny vectors on many ranks that must be combined from the
//! left.

use crate::broadcast::binomial::broadcast_span;
use crate::reduce::gather::gather_and_fold;
use crate::{Builder, Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    gather_and_fold(request, 0, b);
    broadcast_span(request, 0, choice, Span::output(0, request.count()), b);
}
