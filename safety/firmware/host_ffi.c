/// The core as a library for tests on the host, and the loops over it that are too long for any
/// other language. Not part of the firmware: it may use the heap.

#include <stdlib.h>
#include <string.h>

#include "estop.h"
#include "estop_answer.h"
#include "estop_crc.h"
#include "estop_tag.h"

typedef struct {
    estop_config_t config;
    estop_t        core;
} host_t;

/// Words of `host_view`.
enum {
    VIEW_MODE,
    VIEW_CAUSE,
    VIEW_OUTPUTS,
    VIEW_FAIL_COUNT,
    VIEW_BAD_COUNT,
    VIEW_LAST_BAD,
    VIEW_PROOF_STEP,
    VIEW_LEVELS,
    VIEW_GOOD_STREAK,
    VIEW_BEATING,
    VIEW_BOTH_OPEN_DUE,
    VIEW_HOST_MODE,
};

host_t* host_new(const uint16_t* times_ms, uint8_t build, const uint8_t* key, uint32_t boot_nonce,
                 uint32_t cause, uint32_t now_us);
void     host_free(host_t* self);
uint8_t  host_step(host_t* self, uint32_t now_us, uint8_t sample);
void     host_receive(host_t* self, const uint8_t* bytes, uint32_t count, uint32_t now_us);
uint8_t  host_status(host_t* self, uint32_t now_us, uint8_t* wire);
void     host_view(const host_t* self, int32_t* words);
uint32_t host_crc(const uint8_t* bytes, uint8_t size);
uint8_t  host_answer(uint32_t boot_nonce, uint32_t question_id, uint32_t tick_index,
                     uint32_t answer, uint32_t counter, uint8_t* wire);
uint32_t host_fold(uint32_t question, uint32_t tick_index);
uint32_t host_flip_all(const host_t* self, const uint8_t* wire, uint8_t size, uint8_t flips);
uint32_t host_flip_random(const host_t* self, const uint8_t* wire, uint8_t size, uint32_t rounds,
                          uint32_t seed);
uint32_t host_burst_all(const host_t* self, const uint8_t* wire, uint8_t size, uint8_t bits_max);
uint32_t host_burst_random(const host_t* self, const uint8_t* wire, uint8_t size, uint32_t rounds,
                           uint32_t seed);
uint32_t host_noise(const host_t* self, uint32_t rounds, uint32_t seed);
uint32_t host_forge(const host_t* self, const uint8_t* wire, uint8_t size, uint32_t rounds,
                    uint32_t seed);
uint32_t host_soak(host_t* self, uint32_t beats, uint32_t seed, uint32_t lost_of,
                   uint32_t jitter_us, uint32_t now_us);

host_t* host_new(const uint16_t* const times_ms, const uint8_t build, const uint8_t* const key,
                 const uint32_t boot_nonce, const uint32_t cause, const uint32_t now_us)
{
    host_t* const self = calloc(1, sizeof *self);
    if (self == NULL) { return NULL; }
    self->config.silence_ms      = times_ms[0];
    self->config.stop_ms         = times_ms[1];
    self->config.cut_delay_ms    = times_ms[2];
    self->config.discrepancy_ms  = times_ms[3];
    self->config.settle_ms       = times_ms[4];
    self->config.chain_fitted    = (build & ESTOP_BUILD_CHAIN) != 0u;
    self->config.reset_from_link = (build & ESTOP_BUILD_RESET_FROM_LINK) != 0u;
    memcpy(self->config.key, key, ESTOP_KEY_BYTES);
    estop_init(&self->core, &self->config, boot_nonce, (estop_cause_t) cause, now_us);
    return self;
}

void host_free(host_t* const self)
{
    free(self);
}

uint8_t host_step(host_t* const self, const uint32_t now_us, const uint8_t sample)
{
    const estop_input_t input = {now_us, sample};
    return estop_step(&self->core, &input);
}

void host_receive(host_t* const self, const uint8_t* const bytes, const uint32_t count,
                  const uint32_t now_us)
{
    for (uint32_t at = 0; at < count; at++) { estop_receive(&self->core, bytes[at], now_us); }
}

uint8_t host_status(host_t* const self, const uint32_t now_us, uint8_t* const wire)
{
    return estop_status(&self->core, now_us, wire);
}

void host_view(const host_t* const self, int32_t* const words)
{
    const estop_t* const core  = &self->core;
    words[VIEW_MODE]           = core->mode;
    words[VIEW_CAUSE]          = core->cause;
    words[VIEW_OUTPUTS]        = core->outputs;
    words[VIEW_FAIL_COUNT]     = core->link.fail_count;
    words[VIEW_BAD_COUNT]      = core->link.bad_count;
    words[VIEW_LAST_BAD]       = core->link.last_bad;
    words[VIEW_PROOF_STEP]     = core->proof_step;
    words[VIEW_LEVELS]         = core->inputs.levels;
    words[VIEW_GOOD_STREAK]    = core->link.good_streak;
    words[VIEW_BEATING]        = core->link.beating;
    words[VIEW_BOTH_OPEN_DUE]  = core->inputs.both_open_due;
    words[VIEW_HOST_MODE]      = core->link.host_mode;
}

uint32_t host_crc(const uint8_t* const bytes, const uint8_t size)
{
    return ~estop_crc_update(0xFFFFFFFFu, bytes, size);
}

uint32_t host_fold(const uint32_t question, const uint32_t tick_index)
{
    return estop_answer(question, tick_index);
}

/// An unkeyed answer without flags, as it goes over the line.
uint8_t host_answer(const uint32_t boot_nonce, const uint32_t question_id,
                    const uint32_t tick_index, const uint32_t answer, const uint32_t counter,
                    uint8_t* const wire)
{
    static const uint8_t key[ESTOP_KEY_BYTES] = {0};
    uint8_t              frame[ESTOP_ANSWER_BYTES];
    memset(frame, 0, sizeof frame);
    estop_put_u32(frame + 12, boot_nonce);
    estop_put_u32(frame + 16, tick_index);
    estop_put_u32(frame + 20, answer);
    estop_put_u16(frame + 24, (uint16_t) question_id);
    return estop_seal(frame, ESTOP_ANSWER_BYTES, ESTOP_ANSWER_ID, (uint16_t) counter, key, wire);
}

#define WIRE_BYTES (ESTOP_ANSWER_BYTES + ESTOP_WIRE_EXTRA_BYTES)
#define BURST_BITS_MAX 32u

/// Whether the codec takes these bytes, with a delimiter to end them, for an intact answer. What
/// the answer is worth is not asked: the codec alone must refuse.
static bool is_intact(const host_t* const self, const uint8_t* const wire, const uint8_t size)
{
    estop_decoder_t decoder = {0};
    estop_answer_t  answer;
    bool            intact = false;
    for (uint8_t at = 0; at <= size; at++) {
        if (!estop_decode_byte(&decoder, at < size ? wire[at] : 0u)) { continue; }
        const estop_verdict_t verdict = estop_take_answer(&decoder, self->config.key, &answer);
        intact                        = intact || verdict == ESTOP_VERDICT_GOOD;
    }
    return intact;
}

static void flip(uint8_t* const wire, const uint32_t bit)
{
    wire[bit / 8u] = (uint8_t) (wire[bit / 8u] ^ (1u << (bit % 8u)));
}

static uint32_t flip_from(const host_t* const self, uint8_t* const wire, const uint8_t size,
                          const uint32_t first, const uint8_t flips)
{
    if (flips == 0u) { return is_intact(self, wire, size) ? 1u : 0u; }
    uint32_t intact = 0;
    for (uint32_t bit = first; bit < size * 8u; bit++) {
        flip(wire, bit);
        intact += flip_from(self, wire, size, bit + 1u, (uint8_t) (flips - 1u));
        flip(wire, bit);
    }
    return intact;
}

/// How many of all frames with exactly `flips` bits flipped are taken for intact.
uint32_t host_flip_all(const host_t* const self, const uint8_t* const wire, const uint8_t size,
                       const uint8_t flips)
{
    uint8_t copy[WIRE_BYTES];
    memcpy(copy, wire, size);
    return flip_from(self, copy, size, 0u, flips);
}

static uint32_t draw(uint32_t* const state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/// How many of `rounds` frames with one to five random bits flipped are taken for intact.
uint32_t host_flip_random(const host_t* const self, const uint8_t* const wire, const uint8_t size,
                          const uint32_t rounds, const uint32_t seed)
{
    uint32_t state  = seed;
    uint32_t intact = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint8_t copy[WIRE_BYTES];
        memcpy(copy, wire, size);
        const uint32_t flips = 1u + draw(&state) % 5u;
        for (uint32_t count = 0; count < flips; count++) {
            flip(copy, draw(&state) % ((uint32_t) size * 8u));
        }
        // Two flips of one bit leave the frame whole.
        if (memcmp(copy, wire, size) == 0) { continue; }
        if (is_intact(self, copy, size)) { intact++; }
    }
    return intact;
}

/// Flips the bits of `pattern`, its lowest at `bit`. The line sends the lowest bit of a byte first.
static void flip_pattern(uint8_t* const wire, const uint32_t bit, const uint32_t pattern)
{
    for (uint32_t at = 0; at < BURST_BITS_MAX; at++) {
        if (((pattern >> at) & 1u) != 0u) { flip(wire, bit + at); }
    }
}

/// How many of all frames with one burst of up to `bits_max` bits, at most 31, are taken for
/// intact: in every place, and with every pattern that begins with a flipped bit.
uint32_t host_burst_all(const host_t* const self, const uint8_t* const wire, const uint8_t size,
                        const uint8_t bits_max)
{
    uint8_t  copy[WIRE_BYTES];
    uint32_t intact = 0;
    memcpy(copy, wire, size);
    for (uint32_t bit = 0; bit < size * 8u; bit++) {
        const uint32_t left  = size * 8u - bit;
        const uint32_t width = left < bits_max ? left : bits_max;
        for (uint32_t pattern = 1; pattern >> width == 0u; pattern += 2u) {
            flip_pattern(copy, bit, pattern);
            if (is_intact(self, copy, size)) { intact++; }
            flip_pattern(copy, bit, pattern);
        }
    }
    return intact;
}

/// How many of `rounds` frames with one random burst of up to 32 bits are taken for intact.
uint32_t host_burst_random(const host_t* const self, const uint8_t* const wire, const uint8_t size,
                           const uint32_t rounds, const uint32_t seed)
{
    uint8_t  copy[WIRE_BYTES];
    uint32_t state  = seed;
    uint32_t intact = 0;
    memcpy(copy, wire, size);
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t bit     = draw(&state) % (size * 8u - BURST_BITS_MAX + 1u);
        const uint32_t pattern = draw(&state) | 1u;
        flip_pattern(copy, bit, pattern);
        if (is_intact(self, copy, size)) { intact++; }
        flip_pattern(copy, bit, pattern);
    }
    return intact;
}

/// How many of `rounds` frames of random bytes are taken for intact. All have the length of an
/// answer on the line, and right codes of COBS in half of them, so that they get as far as the CRC.
uint32_t host_noise(const host_t* const self, const uint32_t rounds, const uint32_t seed)
{
    uint8_t  wire[WIRE_BYTES];
    uint32_t state  = seed;
    uint32_t intact = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint8_t at = 0; at < WIRE_BYTES; at++) { wire[at] = (uint8_t) (draw(&state) >> 24); }
        if (round % 2u == 0u) {
            // One block without a zero, and a length that is right.
            for (uint8_t at = 0; at < WIRE_BYTES; at++) { wire[at] = (uint8_t) (wire[at] | 1u); }
            wire[0]               = 0;
            wire[1]               = 1;
            wire[2]               = (uint8_t) ESTOP_ANSWER_BYTES;
            wire[3]               = (uint8_t) ESTOP_ANSWER_BYTES;
            wire[WIRE_BYTES - 1u] = 0;
        }
        if (is_intact(self, wire, WIRE_BYTES)) { intact++; }
    }
    return intact;
}

/// How many of `rounds` copies of a keyed answer, each with a random tag under a right CRC, are
/// anything but forged. An unkeyed core has no tag, and forges nothing.
uint32_t host_forge(const host_t* const self, const uint8_t* const wire, const uint8_t size,
                    const uint32_t rounds, const uint32_t seed)
{
    uint32_t state = seed;
    uint32_t other = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        estop_decoder_t decoder = {0};
        estop_answer_t  answer;
        for (uint8_t at = 0; at + 1u < size; at++) { (void) estop_decode_byte(&decoder, wire[at]); }
        for (uint32_t at = ESTOP_ANSWER_BYTES - ESTOP_TAG_BYTES; at < ESTOP_ANSWER_BYTES; at++) {
            decoder.frame[at] = (uint8_t) (draw(&state) >> 24);
        }
        estop_put_u32(decoder.frame + 8, estop_frame_crc(decoder.frame, ESTOP_ANSWER_BYTES));
        const estop_verdict_t verdict =
            estop_take_answer(&decoder, self->config.key, &answer);
        if (verdict != ESTOP_VERDICT_FORGED) { other++; }
    }
    return other;
}

/// A healthy host in virtual time: a tick each 5 ms plus up to `jitter_us`, one frame in `lost_of`
/// lost, never two in a row. Steps every 256 us with the contacts following. Returns the beats that
/// passed while the core was armed; the test arms it before.
uint32_t host_soak(host_t* const self, const uint32_t beats, const uint32_t seed,
                   const uint32_t lost_of, const uint32_t jitter_us, const uint32_t now_us)
{
    uint8_t        wire[ESTOP_STATUS_WIRE_BYTES];
    uint32_t       state   = seed;
    uint32_t       time_us = now_us;
    uint32_t       beat_us = 0;
    uint32_t       late_us = 0;
    bool           lost    = false;
    estop_link_t*  link    = &self->core.link;
    const uint8_t  sample  = ESTOP_IN_BUTTON | ESTOP_IN_CHAIN | ESTOP_IN_BACK;
    const uint16_t counter = link->counter;
    const uint32_t tick    = link->tick_index;
    for (uint32_t beat = 0; beat < beats;) {
        if (host_step(self, time_us, sample) != ESTOP_OUT_BOTH) { return beat; }
        (void) estop_status(&self->core, time_us, wire);
        if (beat_us >= 5000u + late_us) {
            beat_us -= 5000u;
            late_us = draw(&state) % (jitter_us + 1u);
            beat++;
            lost = !lost && draw(&state) % lost_of == 0u;
            if (!lost) {
                const uint32_t id       = link->question_count - 1u;
                const uint32_t question = link->questions[id % ESTOP_QUESTION_COUNT].word;
                const uint8_t  size =
                    host_answer(link->boot_nonce, id, tick + beat,
                                estop_answer(question, tick + beat), counter + beat, wire);
                host_receive(self, wire, size, time_us);
            }
        }
        time_us += 256u;
        beat_us += 256u;
    }
    return beats;
}

#if ESTOP_COUNTED
void __gcov_dump(void);
void __gcov_reset(void);
void host_write_counts(void);

/// Adds what ran since the last time to the files of gcov. A process of Bun's ends without it.
void host_write_counts(void)
{
    __gcov_dump();
    __gcov_reset();
}
#endif
