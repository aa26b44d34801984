/// Judges each frame by one list of checks, and counts. Only a good answer feeds the heartbeat.

#include "estop_link.h"

#include <string.h>

#include "estop_answer.h"

void estop_link_init(estop_link_t* const self, const uint32_t boot_nonce, const uint8_t* const key)
{
    memset(self, 0, sizeof *self);
    self->boot_nonce = boot_nonce;
    self->key        = key;
    self->fail_count = ESTOP_FAIL_OFF;
}

static bool is_answerable(const estop_link_t* const self, const uint16_t question_id,
                          const uint32_t now_us)
{
    const uint16_t newest = (uint16_t) ((self->question_count - 1u) & 0xFFFFu);
    const uint16_t behind = (uint16_t) (newest - question_id);
    if (behind >= ESTOP_QUESTION_COUNT || behind >= self->question_count) { return false; }
    const estop_question_t* const question = &self->questions[question_id % ESTOP_QUESTION_COUNT];
    return now_us - question->asked_us <= ESTOP_QUESTION_AGE_US;
}

/// The ring holds the last ESTOP_BURST_COUNT good answers: one more within the span is too many.
static bool is_early(const estop_link_t* const self, const uint32_t now_us)
{
    return self->good_count == ESTOP_BURST_COUNT &&
           now_us - self->good_us[self->good_next] < ESTOP_BURST_US;
}

static estop_verdict_t judge(const estop_link_t* const self, const estop_answer_t* const answer,
                             const uint32_t now_us)
{
    const uint16_t counter_rise = (uint16_t) (answer->counter - self->counter);
    const uint32_t tick_rise    = answer->tick_index - self->tick_index;
    if (answer->boot_nonce != self->boot_nonce) { return ESTOP_VERDICT_BOOT; }
    if (self->beating && (counter_rise == 0u || counter_rise > ESTOP_COUNTER_RISE_MAX)) {
        return ESTOP_VERDICT_REPEATED;
    }
    if (!is_answerable(self, answer->question_id, now_us)) { return ESTOP_VERDICT_LATE; }
    if (self->beating && (tick_rise == 0u || tick_rise > ESTOP_TICK_RISE_MAX)) {
        return ESTOP_VERDICT_TICK;
    }
    const estop_question_t* const question =
        &self->questions[answer->question_id % ESTOP_QUESTION_COUNT];
    if (answer->answer != estop_answer(question->word, answer->tick_index)) {
        return ESTOP_VERDICT_WRONG;
    }
    return is_early(self, now_us) ? ESTOP_VERDICT_EARLY : ESTOP_VERDICT_GOOD;
}

static void count_good(estop_link_t* const self, const estop_answer_t* const answer,
                       const uint32_t now_us)
{
    self->counter                   = answer->counter;
    self->tick_index                = answer->tick_index;
    self->last_good_us              = now_us;
    self->beating                   = true;
    self->good_us[self->good_next]  = now_us;
    self->good_next                 = (uint8_t) ((self->good_next + 1u) % ESTOP_BURST_COUNT);
    self->host_mode                 = answer->host_mode;
    self->flags                     = answer->flags;
    self->bad_streak                = 0;
    if (self->good_count < ESTOP_BURST_COUNT) { self->good_count++; }
    if (self->good_streak < UINT8_MAX) { self->good_streak++; }
    if (self->fail_count > 0u) { self->fail_count--; }
    self->heard |= answer->flags;
}

static void count_bad(estop_link_t* const self, const estop_verdict_t verdict)
{
    self->last_bad    = (uint8_t) verdict;
    self->good_streak = 0;
    self->bad_count++;
    if (self->bad_streak < UINT8_MAX) { self->bad_streak++; }
    if (self->fail_count < ESTOP_FAIL_LATCH) { self->fail_count++; }
    self->heard_bad = (uint16_t) (self->heard_bad | (1u << (uint8_t) verdict));
}

void estop_link_receive(estop_link_t* const self, const uint8_t byte, const uint32_t now_us)
{
    if (!estop_decode_byte(&self->decoder, byte)) { return; }
    estop_answer_t  answer;
    estop_verdict_t verdict = estop_take_answer(&self->decoder, self->key, &answer);
    if (verdict == ESTOP_VERDICT_IGNORED) { return; }
    if (verdict == ESTOP_VERDICT_GOOD) {
        verdict = judge(self, &answer, now_us);
        // A stop is obeyed in every intact frame of this boot, whatever its answer is worth.
        if (verdict != ESTOP_VERDICT_BOOT) {
            self->heard = (uint8_t) (self->heard | (answer.flags & ESTOP_FLAG_STOP));
        }
    }
    if (verdict == ESTOP_VERDICT_GOOD) {
        count_good(self, &answer, now_us);
    } else {
        count_bad(self, verdict);
    }
}

void estop_link_watch(estop_link_t* const self, const uint32_t now_us, const uint32_t silence_us)
{
    if (!self->beating || now_us - self->last_good_us < silence_us) { return; }
    // The next good answer starts anew: another host process counts its frames and ticks from zero.
    self->beating     = false;
    self->good_streak = 0;
    self->good_count  = 0;
}

uint32_t estop_link_ask(estop_link_t* const self, const uint32_t now_us)
{
    const uint32_t word = estop_mix(self->boot_nonce ^ estop_mix(self->question_count + 1u));
    estop_question_t* const question =
        &self->questions[self->question_count % ESTOP_QUESTION_COUNT];
    question->word     = word;
    question->asked_us = now_us;
    self->question_count++;
    return word;
}
