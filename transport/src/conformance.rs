//! The conformance kit: the tests that every transport must pass.
