/// Frames of the e-stop line, byte by byte as PROTOCOL.md has them: COBS, a header after AUTOSAR
/// E2E profile 4, big-endian fields. Pure: bytes go in and out, and nothing here decides anything.

#ifndef ESTOP_FRAME_H
#define ESTOP_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#ifndef ESTOP_KEYED
#define ESTOP_KEYED 0 // 1 adds a 64-bit tag to every frame
#endif

#define ESTOP_TAG_BYTES (ESTOP_KEYED ? 8u : 0u)
#define ESTOP_KEY_BYTES 8u
#define ESTOP_ANSWER_BYTES (28u + ESTOP_TAG_BYTES)
#define ESTOP_STATUS_BYTES (43u + ESTOP_TAG_BYTES)
#define ESTOP_WIRE_EXTRA_BYTES 3u // a zero before, the COBS code, a zero behind
#define ESTOP_STATUS_WIRE_BYTES (ESTOP_STATUS_BYTES + ESTOP_WIRE_EXTRA_BYTES)

#define ESTOP_STATUS_ID 0x48465301u // "HFS", version 1
#define ESTOP_ANSWER_ID 0x48464101u // "HFA", version 1

#define ESTOP_HOST_MODE_MAX 5u

typedef enum {
    ESTOP_FLAG_STOP    = 1u << 0, // start SS1-t
    ESTOP_FLAG_GOODBYE = 1u << 1, // the host closes under control
    ESTOP_FLAG_PROOF   = 1u << 2, // the host asks for the proof test
    ESTOP_FLAG_RESET   = 1u << 3, // counts only in a bench build
    ESTOP_FLAG_ALL     = 15u,
} estop_flag_t;

/// What became of one frame. The order is that of the checks: the first that fails decides.
typedef enum {
    ESTOP_VERDICT_GOOD      = 0,
    ESTOP_VERDICT_CORRUPT   = 1, // framing, length or CRC
    ESTOP_VERDICT_FOREIGN   = 2, // intact, but not a host's frame of this version
    ESTOP_VERDICT_FORGED    = 3, // keyed: the tag is wrong
    ESTOP_VERDICT_MALFORMED = 4, // a flag or mode that does not exist
    ESTOP_VERDICT_BOOT      = 5, // the nonce of another boot
    ESTOP_VERDICT_REPEATED  = 6, // the counter did not rise
    ESTOP_VERDICT_LATE      = 7, // the question is none of the last four, or too old
    ESTOP_VERDICT_TICK      = 8, // the tick index did not rise
    ESTOP_VERDICT_WRONG     = 9, // the answer is not that of this question and tick
    ESTOP_VERDICT_EARLY     = 10, // more good answers than a healthy host gives
    ESTOP_VERDICT_IGNORED   = 11, // nothing but zeros: counts neither way
} estop_verdict_t;

typedef struct {
    uint32_t boot_nonce;
    uint32_t tick_index;
    uint32_t answer;
    uint16_t counter;
    uint16_t question_id;
    uint8_t  host_mode;
    uint8_t  flags;
} estop_answer_t;

typedef struct {
    uint32_t boot_nonce;
    uint32_t question;
    uint32_t tick_index; // of the last good answer
    uint16_t counter;    // names the question
    uint16_t bad_count;
    uint16_t silence_ms;
    uint16_t stop_ms;
    uint16_t cut_delay_ms;
    uint16_t discrepancy_ms;
    uint8_t  build;
    uint8_t  mode;
    uint8_t  cause;
    uint8_t  last_bad;
    uint8_t  fail_count;
    uint8_t  inputs;
    uint8_t  outputs;
    uint8_t  proof_step;
    uint8_t  host_mode;
} estop_status_t;

/// Takes a frame apart as its bytes arrive. Longer frames than the host's are broken, never stored.
typedef struct {
    uint8_t frame[ESTOP_ANSWER_BYTES];
    uint8_t size;
    uint8_t block_left; // bytes until the next COBS code
    bool    zero_due;   // the last block stands for a zero, if another follows
    bool    any;        // a byte came since the last delimiter
    bool    nonzero;    // a byte that is not zero is in the frame
    bool    too_long;
} estop_decoder_t;

/// The CRC field's value for a frame with a header.
uint32_t estop_frame_crc(const uint8_t* frame, uint8_t size);

/// True when `byte` was the delimiter that ends a frame. Judge it with `estop_take_answer` at once.
bool estop_decode_byte(estop_decoder_t* decoder, uint8_t byte);

/// Reads the frame that just ended and clears the decoder. GOOD means intact: CORRUPT, FOREIGN,
/// FORGED, MALFORMED and IGNORED are the other results. `out` is written only when intact.
estop_verdict_t estop_take_answer(estop_decoder_t* decoder, const uint8_t* key,
                                  estop_answer_t* out);

/// Writes a status as it goes over the line, and returns ESTOP_STATUS_WIRE_BYTES.
uint8_t estop_pack_status(const estop_status_t* status, const uint8_t* key, uint8_t* wire);

/// Writes header, CRC and tag around a payload that is already in place, and the frame to `wire`.
uint8_t estop_seal(uint8_t* frame, uint8_t size, uint32_t data_id, uint16_t counter,
                   const uint8_t* key, uint8_t* wire);

void     estop_put_u16(uint8_t* place, uint16_t value);
void     estop_put_u32(uint8_t* place, uint32_t value);
uint16_t estop_get_u16(const uint8_t* place);
uint32_t estop_get_u32(const uint8_t* place);

#endif
