/// The pins that the chip reads: filtered levels, the reset's edge, and how long two things that
/// must agree have disagreed. Pure.

#ifndef ESTOP_INPUTS_H
#define ESTOP_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#define ESTOP_FILTER_US 3000u // shorter pulses are noise or contact bounce

/// Bits of a sample and of the filtered levels.
typedef enum {
    ESTOP_IN_BUTTON_A = 1u << 0, // channel A of the button is closed: not pressed
    ESTOP_IN_BUTTON_B = 1u << 1,
    ESTOP_IN_CHAIN    = 1u << 2, // the limit chain is closed
    ESTOP_IN_RESET    = 1u << 3, // the reset button is pressed
    ESTOP_IN_BACK_A   = 1u << 4, // the contact of output A reads closed
    ESTOP_IN_BACK_B   = 1u << 5,
} estop_in_t;

#define ESTOP_IN_COUNT 6u
#define ESTOP_IN_BUTTON (ESTOP_IN_BUTTON_A | ESTOP_IN_BUTTON_B)
#define ESTOP_IN_BACK (ESTOP_IN_BACK_A | ESTOP_IN_BACK_B)

/// Bits of the outputs.
typedef enum {
    ESTOP_OUT_A    = 1u << 0,
    ESTOP_OUT_B    = 1u << 1,
    ESTOP_OUT_BOTH = 3u,
} estop_out_t;

/// How long a condition has lasted. Once over its limit it stays so until the condition ends, so
/// the clock may wrap meanwhile.
typedef struct {
    uint32_t since_us;
    bool     lasts;
    bool     over;
} estop_span_t;

typedef struct {
    estop_span_t differs[ESTOP_IN_COUNT]; // the sample from the level
    estop_span_t disagree;                // the two channels
    estop_span_t astray[2];               // a contact from its output
    uint8_t      levels;
    uint8_t      welded;        // outputs that read closed for too long after they were opened
    uint8_t      stuck_open;    // outputs that read open for too long after they were closed
    bool         reset_edge;    // the reset went from released to pressed in this step
    bool         discrepant;    // the channels have disagreed for too long
    bool         both_open_due; // after a discrepancy both channels must be seen open together
} estop_inputs_t;

/// Starts with the worst levels: pressed, open, welded, and a reset that is held.
void estop_inputs_init(estop_inputs_t* self);

/// Takes one sample. `outputs` are the ones commanded since the last step.
void estop_inputs_step(estop_inputs_t* self, uint32_t now_us, uint8_t sample, uint8_t outputs,
                       uint32_t discrepancy_us, uint32_t settle_us);

#endif
