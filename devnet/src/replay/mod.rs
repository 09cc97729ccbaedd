//! Checks the network against traces recorded from a real node.
