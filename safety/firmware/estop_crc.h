/// CRC-32P4: polynomial 0xF4ACFB13, reflected. Pure.

#ifndef ESTOP_CRC_H
#define ESTOP_CRC_H

#include <stdint.h>

/// Takes more bytes into a CRC. It starts with all ones, and the last result is to be inverted.
uint32_t estop_crc_update(uint32_t crc, const uint8_t* bytes, uint8_t size);

#endif
