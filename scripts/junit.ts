// Reads the JUnit file of `bun test`: how many cases passed, failed and were skipped, and which
// test files took part. A file that did not load is missing from it, so the caller compares.

export type JunitCounts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly files: ReadonlySet<string>;
};

export class JunitError extends Error {
  override readonly name = "JunitError";
}

/** Counts `testcase` elements. Throws JunitError when the text is no finished JUnit file. */
export function readJunit(text: string): JunitCounts {
  const ending = text.trimEnd().slice(-13);
  if (!text.startsWith("<?xml") || ending !== "</testsuites>") {
    throw new JunitError(`Cannot read the JUnit file: it ends with "${ending}"`);
  }
  const files = new Set<string>();
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const [, attributes = "", ending, body = ""] of text.matchAll(CASE)) {
    const file = /\bfile="([^"]*)"/.exec(attributes)?.[1];
    if (file !== undefined) files.add(file);
    if (ending === ">" && /<(failure|error)\b/.test(body)) failed += 1;
    else if (ending === ">" && /<skipped\b/.test(body)) skipped += 1;
    else passed += 1;
  }
  return { passed, failed, skipped, files };
}

/** Attributes, how the opening tag ends, and the body of an element that has one. */
const CASE = /<testcase\b([^>]*?)(\/>|>)(?:(?<!\/>)([\s\S]*?)<\/testcase>)?/g;
