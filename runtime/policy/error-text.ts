// What a policy author needs of an error that their code threw: its words, and the place in their
// file. Anything may be thrown; nothing thrown here makes this throw in turn.

/** "message (file:line:column)", or the words alone where no place is known. */
export function errorText(error: unknown): string {
  const words = error instanceof Error ? error.message : wordsOf(error);
  const place = placeOf(error);
  return place === "" ? words : `${words} (${place})`;
}

function wordsOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "a thrown value that has no text";
  }
}

/** A syntax error says where it is; a thrown one is found in its stack. */
function placeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { position, stack } = error as { position?: unknown; stack?: unknown };
  if (typeof position === "object" && position !== null) {
    const { file, line, column } = position as Record<string, unknown>;
    return `${wordsOf(file)}:${wordsOf(line)}:${wordsOf(column)}`;
  }
  if (typeof stack !== "string") return "";
  return /\(?((?:file:\/\/)?\/[^()\s]+:\d+:\d+)\)?/.exec(stack)?.[1] ?? "";
}
