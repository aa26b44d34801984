// Assertions: our own bugs, always on. A failed one ends the thread, no heartbeat follows, and the
// hardware answers. Never used for input: bad input gets a typed error with its place.

export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** States a positive fact that must hold. Throws when it does not. */
export function assert(fact: boolean, statement: string): asserts fact {
  if (!fact) throw new AssertionError(`Assertion failed: ${statement}`);
}
