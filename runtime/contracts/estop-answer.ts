// How the e-stop's answer is folded: each stage of a tick adds its own token in turn, and only all
// of them in order give the word that the chip expects. There is no list of tokens on this side:
// each lives in the file of its stage and nowhere else, so no timer and no replay can answer.
// The arithmetic is 32 bits wide, allocates nothing, and may be called in the tick.

/** A bijection of 32-bit words in which every input bit reaches every output bit. */
function mix(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x21f0_aaad);
  mixed ^= mixed >>> 16;
  mixed = Math.imul(mixed, 0x735a_2d97);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** What the first stage adds its token to. */
export function openAnswer(question: number, tickIndex: number): number {
  return mix(question ^ tickIndex);
}

/** One stage of the tick is done. The result of the last stage is the answer. */
export function foldStage(answer: number, token: number): number {
  return mix(answer ^ token);
}
