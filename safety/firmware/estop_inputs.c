/// Filters and comparisons. A time is renewed while all is well, so that none can wrap unseen.

#include "estop_inputs.h"

#include <string.h>

void estop_inputs_init(estop_inputs_t* const self, const uint32_t now_us)
{
    memset(self, 0, sizeof *self);
    self->levels             = ESTOP_IN_RESET | ESTOP_IN_BACK;
    self->channels_agreed_us = now_us;
    self->followed_us[0]     = now_us;
    self->followed_us[1]     = now_us;
    for (uint8_t at = 0; at < ESTOP_IN_COUNT; at++) { self->steady_us[at] = now_us; }
}

static void filter(estop_inputs_t* const self, const uint32_t now_us, const uint8_t sample)
{
    for (uint8_t at = 0; at < ESTOP_IN_COUNT; at++) {
        const uint8_t bit = (uint8_t) (1u << at);
        if (((sample ^ self->levels) & bit) == 0u) {
            self->steady_us[at] = now_us;
        } else if (now_us - self->steady_us[at] >= ESTOP_FILTER_US) {
            self->levels        = (uint8_t) (self->levels ^ bit);
            self->steady_us[at] = now_us;
        }
    }
}

static void compare_channels(estop_inputs_t* const self, const uint32_t now_us,
                             const uint32_t discrepancy_us)
{
    const uint8_t channels = self->levels & ESTOP_IN_BUTTON;
    if (channels == 0u || channels == ESTOP_IN_BUTTON) { self->channels_agreed_us = now_us; }
    self->discrepant = now_us - self->channels_agreed_us >= discrepancy_us;
    if (self->discrepant) { self->both_open_due = true; }
    if (channels == 0u) { self->both_open_due = false; }
}

static void compare_outputs(estop_inputs_t* const self, const uint32_t now_us,
                            const uint8_t outputs, const uint32_t settle_us)
{
    self->welded     = 0;
    self->stuck_open = 0;
    for (uint8_t at = 0; at < 2u; at++) {
        const uint8_t output = (uint8_t) (ESTOP_OUT_A << at);
        const bool    closed = (self->levels & (ESTOP_IN_BACK_A << at)) != 0u;
        const bool    wanted = (outputs & output) != 0u;
        if (closed == wanted) { self->followed_us[at] = now_us; }
        if (now_us - self->followed_us[at] < settle_us) { continue; }
        if (wanted) {
            self->stuck_open = (uint8_t) (self->stuck_open | output);
        } else {
            self->welded = (uint8_t) (self->welded | output);
        }
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
    compare_outputs(self, now_us, outputs, settle_us);
}
