// Files that are part of the program: as they are when it runs from source, packed by
// `scripts/build.ts` in a compiled binary. Whoever loads one need not know which.

/** How a frame of Zstandard begins, read as a number. */
const ZSTD_MAGIC = 0xfd2f_b528;

/** The bytes of an embedded file, by the path that its import gave. */
export async function embeddedBytes(path: string): Promise<Uint8Array> {
  const bytes = await Bun.file(path).bytes();
  const isPacked =
    bytes.length >= 4 &&
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === ZSTD_MAGIC;
  return isPacked ? Bun.zstdDecompress(bytes) : bytes;
}
