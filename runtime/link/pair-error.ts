// PairingError: why two machines are not paired, or a paired one is refused, with what to do. Its
// texts hold no code and no key.

export class PairingError extends Error {
  override readonly name = "PairingError";
  readonly code = "pairing";
  readonly expected: string;
  readonly found: string;

  constructor(action: string, expected: string, found: string, cause?: unknown) {
    super(`${action}: expected ${expected}, found ${found}`, { cause });
    this.expected = expected;
    this.found = found;
  }
}
