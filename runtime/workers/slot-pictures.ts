// SlotPictures: what a policy sees of the arena's pictures. It borrows the pixels of a slot,
// transforms them, and asks again whether the slot held: a picture that was overwritten meanwhile
// is no picture.

import { OBS_SIZE_BYTES, ObsTransform } from "../contracts/obs-transform.ts";
import type { PictureReader } from "../contracts/policy.ts";
import { ImagePayload } from "../contracts/sample.ts";
import type { FieldView } from "../contracts/state.ts";
import type { ImageReader } from "../shm/image-slots.ts";

export class SlotPictures implements PictureReader {
  readonly #images: ImageReader;
  readonly #transform: ObsTransform;
  readonly #out = new Uint8Array(OBS_SIZE_BYTES);

  /** Every picture has this size: one camera fills the slots. */
  constructor(images: ImageReader, size: { readonly widthPx: number; readonly heightPx: number }) {
    this.#images = images;
    this.#transform = new ObsTransform(size.widthPx, size.heightPx, "rgb");
  }

  transformed(field: FieldView): Uint8Array | null {
    const slot = field.values[ImagePayload.slot]!;
    const sequence = field.values[ImagePayload.arenaSeq]!;
    if (!field.present || !this.#images.isUnchanged(slot, sequence)) return null;
    this.#transform.transformInto(this.#out, this.#images.pixels(slot));
    return this.#images.isUnchanged(slot, sequence) ? this.#out : null;
  }
}
