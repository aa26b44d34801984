// Steering text: characters that may steer a terminal or reorder what it shows: controls, line
// ends, changes of direction. A profile may not hold them, and texts of others lose them before a
// person sees them.

/** A run of them. For `search` and `replace`, which keep no place between calls. */
export const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;
