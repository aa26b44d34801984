// deepFreeze: what several parts of a program hold at once and nobody may change. Set-up only.
// Bytes and numbers in typed arrays stay as they are: the language cannot freeze them.

/** Freezes the value and all that it holds, and gives it back. It may hold no cycle. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const parts: unknown[] = Object.values(value);
  for (let index = 0; index < parts.length; index += 1) deepFreeze(parts[index]);
  return Object.freeze(value);
}
