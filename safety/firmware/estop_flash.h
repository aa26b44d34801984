/// Constant tables that stay in flash. An AVR reads flash through another instruction than RAM, so
/// a table is declared with ESTOP_FLASH and read with ESTOP_FLASH_U8 or ESTOP_FLASH_U32.

#ifndef ESTOP_FLASH_H
#define ESTOP_FLASH_H

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ESTOP_FLASH PROGMEM
#define ESTOP_FLASH_U8(place) pgm_read_byte(place)
#define ESTOP_FLASH_U32(place) pgm_read_dword(place)
#else
#define ESTOP_FLASH
#define ESTOP_FLASH_U8(place) (*(place))
#define ESTOP_FLASH_U32(place) (*(place))
#endif

#endif
