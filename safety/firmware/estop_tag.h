/// HalfSipHash-2-4 with a 64-bit tag, for the keyed build: 32-bit arithmetic only, so that an 8-bit
/// chip finishes in time. Pure.

#ifndef ESTOP_TAG_H
#define ESTOP_TAG_H

#include <stdint.h>

/// Writes the 8 bytes of the tag of `size` bytes under an 8-byte key.
void estop_tag(const uint8_t* key, const uint8_t* bytes, uint8_t size, uint8_t* tag);

#endif
