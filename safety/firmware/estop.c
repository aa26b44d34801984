/// The modes and what moves between them. Every way from a danger leads to open outputs, and the
/// only way to closed ones is proof test, good answers, and a person's reset edge, in that order.

#include "estop.h"

#include <string.h>

#include "estop_flash.h"

typedef enum {
    CUE_PROOF_WANTED = 0,
    CUE_PROVED       = 1,
    CUE_RESET        = 2,
    CUE_GOODBYE      = 3,
    CUE_STOP         = 4, // button or stop request
    CUE_SILENCE      = 5,
    CUE_TIME         = 6, // the timer of the mode is over
    CUE_FAULT        = 7, // what never waits
    CUE_COUNT        = 8,
} cue_t;

#define TRIPPED ESTOP_MODE_TRIPPED
#define PROOF ESTOP_MODE_PROOF
#define WAIT ESTOP_MODE_WAIT_RESET
#define ARMED ESTOP_MODE_ARMED
#define STOPPING ESTOP_MODE_STOPPING
#define CUTTING ESTOP_MODE_CUTTING
#define DISARMED ESTOP_MODE_DISARMED

// clang-format off
static const uint8_t transitions[ESTOP_MODE_COUNT][CUE_COUNT] ESTOP_FLASH = {
    //             PROOF_WANTED PROVED    RESET     GOODBYE   STOP      SILENCE   TIME      FAULT
    [TRIPPED]  = {PROOF,       TRIPPED,  TRIPPED,  TRIPPED,  TRIPPED,  TRIPPED,  TRIPPED,  TRIPPED},
    [PROOF]    = {PROOF,       WAIT,     PROOF,    DISARMED, TRIPPED,  TRIPPED,  TRIPPED,  TRIPPED},
    [WAIT]     = {WAIT,        WAIT,     ARMED,    DISARMED, TRIPPED,  TRIPPED,  WAIT,     TRIPPED},
    [ARMED]    = {ARMED,       ARMED,    ARMED,    DISARMED, STOPPING, CUTTING,  ARMED,    TRIPPED},
    [STOPPING] = {STOPPING,    STOPPING, STOPPING, TRIPPED,  STOPPING, CUTTING,  TRIPPED,  TRIPPED},
    [CUTTING]  = {CUTTING,     CUTTING,  CUTTING,  CUTTING,  CUTTING,  CUTTING,  TRIPPED,  TRIPPED},
    [DISARMED] = {PROOF,       DISARMED, DISARMED, DISARMED, DISARMED, DISARMED, DISARMED, TRIPPED},
};
// clang-format on

static uint32_t us(const uint16_t ms)
{
    return (uint32_t) ms * 1000u;
}

static bool is_within(const uint16_t value, const uint16_t min, const uint16_t max)
{
    return value >= min && value <= max;
}

static bool is_good_config(const estop_config_t* const config)
{
    return is_within(config->silence_ms, 10, 1000) && is_within(config->stop_ms, 10, 10000) &&
           is_within(config->cut_delay_ms, 0, 500) && is_within(config->discrepancy_ms, 20, 200) &&
           is_within(config->settle_ms, 5, 200);
}

void estop_init(estop_t* const self, const estop_config_t* const config,
                const uint32_t boot_nonce, const estop_cause_t cause, const uint32_t now_us)
{
    memset(self, 0, sizeof *self);
    self->config      = config;
    self->config_good = is_good_config(config);
    self->mode        = TRIPPED;
    self->cause       = (uint8_t) cause;
    self->status_us   = now_us - ESTOP_STATUS_US;
    estop_link_init(&self->link, boot_nonce, config->key);
    estop_inputs_init(&self->inputs);
}

void estop_receive(estop_t* const self, const uint8_t byte, const uint32_t now_us)
{
    estop_link_receive(&self->link, byte, now_us);
}

static bool is_over(const uint32_t due_us, const uint32_t now_us)
{
    return now_us - due_us < 0x80000000u; // no timer runs half an hour
}

static void start_proof_step(estop_t* const self, const uint8_t step, const uint32_t now_us)
{
    self->proof_step      = step;
    self->proof_us        = now_us;
    self->link.bad_streak = 0;
}

/// Two timers that run at once end with the earlier.
static void bring_forward(estop_t* const self, const uint32_t due_us)
{
    if (is_over(due_us, self->due_us)) { self->due_us = due_us; }
}

static void enter(estop_t* const self, const uint8_t mode, const uint32_t now_us)
{
    const bool     stopping = self->mode == STOPPING;
    const uint32_t cut_us   = now_us + us(self->config->cut_delay_ms);
    self->mode              = mode;
    if (mode == PROOF) {
        self->cause  = ESTOP_CAUSE_NONE;
        self->due_us = now_us + ESTOP_PROOF_US;
        start_proof_step(self, ESTOP_PROOF_WRONG, now_us);
    }
    if (mode == STOPPING) { self->due_us = now_us + us(self->config->stop_ms); }
    if (mode == CUTTING && !stopping) { self->due_us = cut_us; }
    if (mode == CUTTING && stopping) { bring_forward(self, cut_us); }
}

static void apply(estop_t* const self, const cue_t cue, const estop_cause_t cause,
                  const uint32_t now_us)
{
    const uint8_t mode = ESTOP_FLASH_U8(&transitions[self->mode][cue]);
    // What is already open keeps its first cause, but a defect of the hardware must be seen.
    if (cause != ESTOP_CAUSE_NONE && (mode != self->mode || cue == CUE_FAULT)) {
        self->cause = (uint8_t) cause;
    }
    if (mode != self->mode) { enter(self, mode, now_us); }
}

static bool is_powered(const estop_t* const self)
{
    return self->mode == ARMED || self->mode == STOPPING || self->mode == CUTTING;
}

static bool are_contacts_well(const estop_t* const self)
{
    const uint8_t levels  = self->inputs.levels;
    const bool    chained = !self->config->chain_fitted || (levels & ESTOP_IN_CHAIN) != 0u;
    return (levels & ESTOP_IN_BUTTON) == ESTOP_IN_BUTTON && chained && !self->inputs.both_open_due;
}

static bool is_proof_allowed(const estop_t* const self)
{
    return self->config_good && are_contacts_well(self) &&
           (self->inputs.levels & ESTOP_IN_BACK) == 0u && self->link.fail_count == 0u &&
           self->link.good_streak >= ESTOP_GOOD_STREAK &&
           (self->link.heard & ESTOP_FLAG_STOP) == 0u;
}

static bool was_bad(const estop_t* const self, const estop_verdict_t verdict)
{
    return (self->link.heard_bad & (1u << (uint8_t) verdict)) != 0u;
}

/// Whether the step of the proof test has shown what it is for.
static bool is_proof_step_shown(const estop_t* const self, const uint32_t now_us)
{
    const estop_link_t* const link = &self->link;
    const uint8_t             back = self->inputs.levels & ESTOP_IN_BACK;
    switch (self->proof_step) {
    case ESTOP_PROOF_WRONG: return was_bad(self, ESTOP_VERDICT_WRONG);
    case ESTOP_PROOF_CORRUPT: return was_bad(self, ESTOP_VERDICT_CORRUPT);
    case ESTOP_PROOF_BURST: return was_bad(self, ESTOP_VERDICT_EARLY);
    case ESTOP_PROOF_FIVE:
        return link->bad_streak >= ESTOP_FAIL_OFF && link->fail_count >= ESTOP_FAIL_OFF;
    case ESTOP_PROOF_SILENCE:
        return !link->beating && now_us - self->proof_us >= us(self->config->silence_ms);
    case ESTOP_PROOF_RECOVER:
        return link->fail_count == 0u && link->good_streak >= ESTOP_GOOD_STREAK;
    case ESTOP_PROOF_CLOSE_A: return back == ESTOP_IN_BACK_A;
    case ESTOP_PROOF_CLOSE_B: return back == ESTOP_IN_BACK_B;
    case ESTOP_PROOF_OPEN_A:
    case ESTOP_PROOF_OPEN_B: return back == 0u;
    default: return false;
    }
}

static void prove(estop_t* const self, const uint32_t now_us)
{
    if (self->mode != PROOF || !is_proof_step_shown(self, now_us)) { return; }
    start_proof_step(self, (uint8_t) (self->proof_step + 1u), now_us);
    if (self->proof_step == ESTOP_PROOF_DONE) { apply(self, CUE_PROVED, ESTOP_CAUSE_NONE, now_us); }
}

/// The button's edge; in a bench build the flag's edge too. A level never counts.
static bool is_reset_edge(estop_t* const self)
{
    const bool held   = (self->link.flags & ESTOP_FLAG_RESET) != 0u;
    const bool asked  = self->config->reset_from_link && held;
    const bool edge   = asked && !self->reset_asked;
    self->reset_asked = asked;
    return edge || self->inputs.reset_edge;
}

/// The host may ask: for the proof test, for a reset in a bench build, to close.
static void take_wishes(estop_t* const self, const uint32_t now_us)
{
    const uint8_t heard = self->link.heard;
    const bool    edge  = is_reset_edge(self);
    // Before the proof test can end in this step: the edge must come after it.
    if (edge && self->link.good_streak >= ESTOP_GOOD_STREAK) {
        apply(self, CUE_RESET, ESTOP_CAUSE_NONE, now_us);
    }
    if ((heard & ESTOP_FLAG_PROOF) != 0u && is_proof_allowed(self)) {
        apply(self, CUE_PROOF_WANTED, ESTOP_CAUSE_NONE, now_us);
    }
    prove(self, now_us);
    if ((heard & ESTOP_FLAG_GOODBYE) != 0u) {
        const bool stopping = self->mode == STOPPING;
        apply(self, CUE_GOODBYE, stopping ? ESTOP_CAUSE_NONE : ESTOP_CAUSE_HOST_CLOSED, now_us);
    }
}

/// In most of the proof test the host is silent on purpose; not while an output may close.
static bool is_silence_expected(const estop_t* const self)
{
    return self->mode == PROOF && self->proof_step < ESTOP_PROOF_CLOSE_A;
}

static void take_stop(estop_t* const self, const estop_cause_t cause, const uint32_t now_us)
{
    // The cut delay may be longer than SS1-t, but a stop cuts within SS1-t all the same.
    if (self->mode == CUTTING) { bring_forward(self, now_us + us(self->config->stop_ms)); }
    apply(self, CUE_STOP, cause, now_us);
}

static void take_stops(estop_t* const self, const uint32_t now_us)
{
    const bool pressed = (self->inputs.levels & ESTOP_IN_BUTTON) != ESTOP_IN_BUTTON;
    const bool asked   = (self->link.heard & ESTOP_FLAG_STOP) != 0u;
    if (asked) { take_stop(self, ESTOP_CAUSE_STOP_REQUEST, now_us); }
    if (pressed) { take_stop(self, ESTOP_CAUSE_BUTTON, now_us); }
    if (!self->link.beating && !is_silence_expected(self)) {
        apply(self, CUE_SILENCE, ESTOP_CAUSE_SILENCE, now_us);
    }
    const bool timed = self->mode == PROOF || self->mode == STOPPING || self->mode == CUTTING;
    if (timed && is_over(self->due_us, now_us)) {
        const bool proving = self->mode == PROOF;
        apply(self, CUE_TIME, proving ? ESTOP_CAUSE_PROOF_TIMEOUT : ESTOP_CAUSE_NONE, now_us);
    }
}

static void take_fault(estop_t* const self, const bool is_there, const estop_cause_t cause,
                       const uint32_t now_us)
{
    if (is_there) { apply(self, CUE_FAULT, cause, now_us); }
}

/// Faults never wait. The last one found is the cause.
static void take_faults(estop_t* const self, const uint32_t now_us)
{
    const estop_inputs_t* const inputs = &self->inputs;
    const bool open  = self->config->chain_fitted && (inputs->levels & ESTOP_IN_CHAIN) == 0u;
    const bool ready = self->mode != TRIPPED && self->mode != DISARMED;
    const bool bad   = self->link.fail_count >= ESTOP_FAIL_LATCH;
    const bool none = !bad && !open && !inputs->discrepant && inputs->stuck_open == 0u &&
                      inputs->welded == 0u && self->config_good;
    if (none) { return; }
    take_fault(self, bad && ready && self->mode != PROOF, ESTOP_CAUSE_BAD_ANSWERS, now_us);
    take_fault(self, open && ready, ESTOP_CAUSE_LIMIT_CHAIN, now_us);
    take_fault(self, inputs->discrepant, ESTOP_CAUSE_DISCREPANCY, now_us);
    take_fault(self, (inputs->stuck_open & ESTOP_OUT_A) != 0u, ESTOP_CAUSE_STUCK_OPEN_A, now_us);
    take_fault(self, (inputs->stuck_open & ESTOP_OUT_B) != 0u, ESTOP_CAUSE_STUCK_OPEN_B, now_us);
    take_fault(self, (inputs->welded & ESTOP_OUT_A) != 0u, ESTOP_CAUSE_WELDED_A, now_us);
    take_fault(self, (inputs->welded & ESTOP_OUT_B) != 0u, ESTOP_CAUSE_WELDED_B, now_us);
    take_fault(self, !self->config_good, ESTOP_CAUSE_BAD_CONFIG, now_us);
}

static uint8_t outputs_of(const estop_t* const self)
{
    if (is_powered(self)) { return self->link.fail_count < ESTOP_FAIL_OFF ? ESTOP_OUT_BOTH : 0u; }
    if (self->mode == PROOF && self->proof_step == ESTOP_PROOF_CLOSE_A) { return ESTOP_OUT_A; }
    if (self->mode == PROOF && self->proof_step == ESTOP_PROOF_CLOSE_B) { return ESTOP_OUT_B; }
    return 0u;
}

uint8_t estop_step(estop_t* const self, const estop_input_t* const input)
{
    const uint32_t now_us = input->now_us;
    estop_inputs_step(&self->inputs, now_us, input->sample, self->outputs,
                      us(self->config->discrepancy_ms), us(self->config->settle_ms));
    estop_link_watch(&self->link, now_us, us(self->config->silence_ms));

    // Least dangerous first, so that danger has the last word within one step.
    take_wishes(self, now_us);
    take_stops(self, now_us);
    take_faults(self, now_us);

    self->link.heard     = 0;
    self->link.heard_bad = 0;
    self->outputs        = outputs_of(self);
    return self->outputs;
}

static uint8_t shown(const estop_t* const self)
{
    const bool trip = self->mode == PROOF &&
                      (self->link.fail_count >= ESTOP_FAIL_OFF || !self->link.beating);
    uint8_t bits = self->outputs;
    if (trip) { bits |= ESTOP_SHOWN_TRIP; }
    if (self->inputs.both_open_due) { bits |= ESTOP_SHOWN_BOTH_OPEN_DUE; }
    return bits;
}

static uint8_t build_of(const estop_config_t* const config)
{
    return (uint8_t) ((config->reset_from_link ? ESTOP_BUILD_RESET_FROM_LINK : 0u) |
                      (ESTOP_KEYED ? ESTOP_BUILD_KEYED : 0u) |
                      (config->chain_fitted ? ESTOP_BUILD_CHAIN : 0u));
}

uint8_t estop_status(estop_t* const self, const uint32_t now_us, uint8_t* const wire)
{
    const uint32_t since_us = now_us - self->status_us;
    if (since_us < ESTOP_STATUS_US) { return 0; }
    // Keep the grid, unless a whole status was missed.
    self->status_us = since_us < 2u * ESTOP_STATUS_US ? self->status_us + ESTOP_STATUS_US : now_us;
    estop_status_t status;
    status.counter        = (uint16_t) (self->link.question_count & 0xFFFFu);
    status.question       = estop_link_ask(&self->link, now_us);
    status.boot_nonce     = self->link.boot_nonce;
    status.tick_index     = self->link.tick_index;
    status.bad_count      = self->link.bad_count;
    status.silence_ms     = self->config->silence_ms;
    status.stop_ms        = self->config->stop_ms;
    status.cut_delay_ms   = self->config->cut_delay_ms;
    status.discrepancy_ms = self->config->discrepancy_ms;
    status.build          = build_of(self->config);
    status.mode           = self->mode;
    status.cause          = self->cause;
    status.last_bad       = self->link.last_bad;
    status.fail_count     = self->link.fail_count;
    status.inputs         = self->inputs.levels;
    status.outputs        = shown(self);
    status.proof_step     = self->proof_step;
    status.host_mode      = self->link.host_mode;
    return estop_pack_status(&status, self->config->key, wire);
}
