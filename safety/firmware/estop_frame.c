/// COBS, header, CRC and the fields of both frames. One block of COBS is enough: no frame reaches
/// 254 bytes.

#include "estop_frame.h"

#include <string.h>

#include "estop_crc.h"
#include "estop_tag.h"

#define LENGTH_AT 0u
#define COUNTER_AT 2u
#define DATA_ID_AT 4u
#define CRC_AT 8u
#define PAYLOAD_AT 12u

void estop_put_u16(uint8_t* const place, const uint16_t value)
{
    place[0] = (uint8_t) (value >> 8);
    place[1] = (uint8_t) (value & 0xFFu);
}

void estop_put_u32(uint8_t* const place, const uint32_t value)
{
    estop_put_u16(place, (uint16_t) (value >> 16));
    estop_put_u16(place + 2, (uint16_t) (value & 0xFFFFu));
}

uint16_t estop_get_u16(const uint8_t* const place)
{
    return (uint16_t) (((uint16_t) place[0] << 8) | place[1]);
}

uint32_t estop_get_u32(const uint8_t* const place)
{
    return ((uint32_t) estop_get_u16(place) << 16) | estop_get_u16(place + 2);
}

uint32_t estop_frame_crc(const uint8_t* const frame, const uint8_t size)
{
    const uint32_t head = estop_crc_update(0xFFFFFFFFu, frame, CRC_AT);
    return ~estop_crc_update(head, frame + PAYLOAD_AT, (uint8_t) (size - PAYLOAD_AT));
}

static void append(estop_decoder_t* const decoder, const uint8_t byte)
{
    if (byte != 0u) { decoder->nonzero = true; }
    if (decoder->size >= ESTOP_ANSWER_BYTES) {
        decoder->too_long = true;
        return;
    }
    decoder->frame[decoder->size] = byte;
    decoder->size++;
}

bool estop_decode_byte(estop_decoder_t* const decoder, const uint8_t byte)
{
    if (byte == 0u) { return decoder->any; }
    decoder->any = true;
    if (decoder->block_left > 0u) {
        decoder->block_left--;
        append(decoder, byte);
        return false;
    }
    if (decoder->zero_due) { append(decoder, 0u); }
    decoder->block_left = (uint8_t) (byte - 1u);
    decoder->zero_due   = byte != 0xFFu;
    return false;
}

#if ESTOP_KEYED
/// The tag covers the whole frame but itself, with the CRC field read as zero.
static bool is_forged(uint8_t* const frame, const uint8_t size, const uint8_t* const key)
{
    uint8_t tag[ESTOP_TAG_BYTES];
    uint8_t difference = 0;
    estop_put_u32(frame + CRC_AT, 0u);
    estop_tag(key, frame, (uint8_t) (size - ESTOP_TAG_BYTES), tag);
    for (uint8_t at = 0; at < ESTOP_TAG_BYTES; at++) {
        difference = (uint8_t) (difference | (tag[at] ^ frame[size - ESTOP_TAG_BYTES + at]));
    }
    return difference != 0u;
}
#endif

static estop_verdict_t read_answer(estop_decoder_t* const decoder, const uint8_t* const key,
                                   estop_answer_t* const out)
{
    uint8_t* const frame = decoder->frame;
    if (decoder->block_left == 0u && !decoder->nonzero) { return ESTOP_VERDICT_IGNORED; }
    if (decoder->block_left != 0u || decoder->too_long || decoder->size != ESTOP_ANSWER_BYTES ||
        estop_get_u16(frame + LENGTH_AT) != ESTOP_ANSWER_BYTES ||
        estop_get_u32(frame + CRC_AT) != estop_frame_crc(frame, ESTOP_ANSWER_BYTES)) {
        return ESTOP_VERDICT_CORRUPT;
    }
    if (estop_get_u32(frame + DATA_ID_AT) != ESTOP_ANSWER_ID) { return ESTOP_VERDICT_FOREIGN; }
#if ESTOP_KEYED
    if (is_forged(frame, ESTOP_ANSWER_BYTES, key)) { return ESTOP_VERDICT_FORGED; }
#else
    (void) key;
#endif
    if (frame[26] > ESTOP_HOST_MODE_MAX || frame[27] > ESTOP_FLAG_ALL) {
        return ESTOP_VERDICT_MALFORMED;
    }
    out->counter     = estop_get_u16(frame + COUNTER_AT);
    out->boot_nonce  = estop_get_u32(frame + 12);
    out->tick_index  = estop_get_u32(frame + 16);
    out->answer      = estop_get_u32(frame + 20);
    out->question_id = estop_get_u16(frame + 24);
    out->host_mode   = frame[26];
    out->flags       = frame[27];
    return ESTOP_VERDICT_GOOD;
}

estop_verdict_t estop_take_answer(estop_decoder_t* const decoder, const uint8_t* const key,
                                  estop_answer_t* const out)
{
    const estop_verdict_t verdict = read_answer(decoder, key, out);
    memset(decoder, 0, sizeof *decoder);
    return verdict;
}

/// COBS for less than 254 bytes: each code tells how far the next zero is.
static uint8_t stuff(const uint8_t* const frame, const uint8_t size, uint8_t* const wire)
{
    uint8_t code_at = 1;
    uint8_t at      = 2;
    wire[0]         = 0;
    for (uint8_t from = 0; from < size; from++) {
        if (frame[from] == 0u) {
            wire[code_at] = (uint8_t) (at - code_at);
            code_at       = at;
        } else {
            wire[at] = frame[from];
        }
        at++;
    }
    wire[code_at] = (uint8_t) (at - code_at);
    wire[at]      = 0;
    return (uint8_t) (at + 1u);
}

uint8_t estop_seal(uint8_t* const frame, const uint8_t size, const uint32_t data_id,
                   const uint16_t counter, const uint8_t* const key, uint8_t* const wire)
{
    estop_put_u16(frame + LENGTH_AT, size);
    estop_put_u16(frame + COUNTER_AT, counter);
    estop_put_u32(frame + DATA_ID_AT, data_id);
    estop_put_u32(frame + CRC_AT, 0u);
#if ESTOP_KEYED
    estop_tag(key, frame, (uint8_t) (size - ESTOP_TAG_BYTES), frame + size - ESTOP_TAG_BYTES);
#else
    (void) key;
#endif
    estop_put_u32(frame + CRC_AT, estop_frame_crc(frame, size));
    return stuff(frame, size, wire);
}

uint8_t estop_pack_status(const estop_status_t* const status, const uint8_t* const key,
                          uint8_t* const wire)
{
    uint8_t frame[ESTOP_STATUS_BYTES];
    estop_put_u32(frame + 12, status->boot_nonce);
    estop_put_u32(frame + 16, status->question);
    estop_put_u32(frame + 20, status->tick_index);
    estop_put_u16(frame + 24, status->bad_count);
    estop_put_u16(frame + 26, status->silence_ms);
    estop_put_u16(frame + 28, status->stop_ms);
    estop_put_u16(frame + 30, status->cut_delay_ms);
    estop_put_u16(frame + 32, status->discrepancy_ms);
    frame[34] = status->build;
    frame[35] = status->mode;
    frame[36] = status->cause;
    frame[37] = status->last_bad;
    frame[38] = status->fail_count;
    frame[39] = status->inputs;
    frame[40] = status->outputs;
    frame[41] = status->proof_step;
    frame[42] = status->host_mode;
    return estop_seal(frame, ESTOP_STATUS_BYTES, ESTOP_STATUS_ID, status->counter, key, wire);
}
