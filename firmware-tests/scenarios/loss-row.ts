// LossRow: one line of the loss table in `safety/README.md`, as text, and the test that proves it.
// Every figure in it was measured by that test.

export type LossRow = {
  readonly id: string;
  readonly cause: string;
  readonly detectedBy: string;
  readonly within: string;
  readonly robotDoes: string;
  readonly armFalls: string;
  readonly rearm: string;
  /** Test file, from the root of the repository. */
  readonly proof: string;
};
