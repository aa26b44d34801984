/// Filters and comparisons. When nothing differs, a step costs next to nothing.

#include "estop_inputs.h"

#include <string.h>

void estop_inputs_init(estop_inputs_t* const self)
{
    memset(self, 0, sizeof *self);
    self->levels = ESTOP_IN_RESET | ESTOP_IN_BACK;
}

/// Whether `condition` has lasted for `limit_us`, since the first step that saw it.
static bool is_over(estop_span_t* const span, const bool condition, const uint32_t now_us,
                    const uint32_t limit_us)
{
    if (!condition) {
        span->lasts = false;
        span->over  = false;
        return false;
    }
    if (!span->lasts) {
        span->lasts    = true;
        span->since_us = now_us;
    }
    if (now_us - span->since_us >= limit_us) { span->over = true; }
    return span->over;
}

static void filter(estop_inputs_t* const self, const uint32_t now_us, const uint8_t sample)
{
    const uint8_t different = sample ^ self->levels;
    uint8_t       bit       = 1;
    for (uint8_t at = 0; at < ESTOP_IN_COUNT; at++) {
        estop_span_t* const span = &self->differs[at];
        if (is_over(span, (different & bit) != 0u, now_us, ESTOP_FILTER_US)) {
            self->levels = (uint8_t) (self->levels ^ bit);
            span->lasts  = false;
            span->over   = false;
        }
        bit = (uint8_t) (bit << 1);
    }
}

static void compare_channels(estop_inputs_t* const self, const uint32_t now_us,
                             const uint32_t discrepancy_us)
{
    const uint8_t channels = self->levels & ESTOP_IN_BUTTON;
    const bool    disagree = channels != 0u && channels != ESTOP_IN_BUTTON;
    self->discrepant       = is_over(&self->disagree, disagree, now_us, discrepancy_us);
    if (self->discrepant) { self->both_open_due = true; }
    if (channels == 0u) { self->both_open_due = false; }
}

static void compare_output(estop_inputs_t* const self, const uint8_t at, const uint32_t now_us,
                           const bool wanted, const bool closed, const uint32_t settle_us)
{
    const uint8_t output = at == 0u ? ESTOP_OUT_A : ESTOP_OUT_B;
    if (!is_over(&self->astray[at], wanted != closed, now_us, settle_us)) { return; }
    if (wanted) {
        self->stuck_open = (uint8_t) (self->stuck_open | output);
    } else {
        self->welded = (uint8_t) (self->welded | output);
    }
}

void estop_inputs_step(estop_inputs_t* const self, const uint32_t now_us, const uint8_t sample,
                       const uint8_t outputs, const uint32_t discrepancy_us,
                       const uint32_t settle_us)
{
    const uint8_t before = self->levels;
    filter(self, now_us, sample);
    self->reset_edge = (self->levels & ~before & ESTOP_IN_RESET) != 0u;
    compare_channels(self, now_us, discrepancy_us);
    self->welded     = 0;
    self->stuck_open = 0;
    compare_output(self, 0, now_us, (outputs & ESTOP_OUT_A) != 0u,
                   (self->levels & ESTOP_IN_BACK_A) != 0u, settle_us);
    compare_output(self, 1, now_us, (outputs & ESTOP_OUT_B) != 0u,
                   (self->levels & ESTOP_IN_BACK_B) != 0u, settle_us);
}
