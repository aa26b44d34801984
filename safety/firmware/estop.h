/// E-stop core: the modes of the chip that holds the robot's power. Pure: no registers, no clock,
/// no globals, no heap, no floating point, no recursion. The board file samples pins, hands over
/// the bytes of the line and drives the outputs with what `estop_step` returns, and nothing else.

#ifndef ESTOP_H
#define ESTOP_H

#include "estop_inputs.h"
#include "estop_link.h"

#define ESTOP_STATUS_US 5000u       // a status, with a fresh question, this often
#define ESTOP_GOOD_STREAK 3u        // good answers in a row before a reset counts
#define ESTOP_PROOF_US 3000000u     // the whole proof test may take this long; it needs a tenth

typedef enum {
    ESTOP_MODE_TRIPPED    = 0, // outputs open; the cause says why
    ESTOP_MODE_PROOF      = 1, // the proof test runs; never both outputs closed
    ESTOP_MODE_WAIT_RESET = 2, // proved; a person's reset edge is missing
    ESTOP_MODE_ARMED      = 3, // outputs closed while the fail count is below ESTOP_FAIL_OFF
    ESTOP_MODE_STOPPING   = 4, // as armed, until SS1-t is over
    ESTOP_MODE_CUTTING    = 5, // silence was latched; as armed, until the cut delay is over
    ESTOP_MODE_DISARMED   = 6, // the host said goodbye; outputs open
    ESTOP_MODE_COUNT      = 7,
} estop_mode_t;

/// Why the outputs are open, or will be. Numbers are part of the protocol.
typedef enum {
    ESTOP_CAUSE_NONE          = 0,
    ESTOP_CAUSE_POWER_ON      = 1,
    ESTOP_CAUSE_RESET_PIN     = 2,
    ESTOP_CAUSE_WATCHDOG      = 3,
    ESTOP_CAUSE_BROWN_OUT     = 4,
    ESTOP_CAUSE_BAD_CONFIG    = 5, // a build constant is out of its range: the chip never arms
    ESTOP_CAUSE_SILENCE       = 6,
    ESTOP_CAUSE_BAD_ANSWERS   = 7,
    ESTOP_CAUSE_BUTTON        = 8,
    ESTOP_CAUSE_STOP_REQUEST  = 9,
    ESTOP_CAUSE_LIMIT_CHAIN   = 10,
    ESTOP_CAUSE_DISCREPANCY   = 11,
    ESTOP_CAUSE_STUCK_OPEN_A  = 12,
    ESTOP_CAUSE_STUCK_OPEN_B  = 13,
    ESTOP_CAUSE_WELDED_A      = 14,
    ESTOP_CAUSE_WELDED_B      = 15,
    ESTOP_CAUSE_PROOF_TIMEOUT = 16,
    ESTOP_CAUSE_HOST_CLOSED   = 17,
} estop_cause_t;

/// Steps of the proof test. Each waits for what it names, and only then the next begins.
typedef enum {
    ESTOP_PROOF_WRONG   = 0, // one wrong answer
    ESTOP_PROOF_CORRUPT = 1, // one corrupt frame
    ESTOP_PROOF_BURST   = 2, // one early answer
    ESTOP_PROOF_FIVE    = 3, // ESTOP_FAIL_OFF bad answers in a row
    ESTOP_PROOF_SILENCE = 4, // one silence
    ESTOP_PROOF_RECOVER = 5, // good answers until the fail count is zero again
    ESTOP_PROOF_CLOSE_A = 6, // output A alone, and its read-back follows
    ESTOP_PROOF_OPEN_A  = 7,
    ESTOP_PROOF_CLOSE_B = 8,
    ESTOP_PROOF_OPEN_B  = 9,
    ESTOP_PROOF_DONE    = 10,
} estop_proof_t;

/// Bits of the status field `build`.
typedef enum {
    ESTOP_BUILD_RESET_FROM_LINK = 1u << 0,
    ESTOP_BUILD_KEYED           = 1u << 1,
    ESTOP_BUILD_CHAIN           = 1u << 2,
} estop_build_t;

/// Bits of the status field `outputs` above the two outputs themselves.
typedef enum {
    ESTOP_SHOWN_TRIP          = 1u << 2, // in the proof test: the outputs would be open now
    ESTOP_SHOWN_BOTH_OPEN_DUE = 1u << 3, // press the button once: both channels must open
} estop_shown_t;

/// Constants of a build. The board keeps them in flash; the status tells them to the host.
typedef struct {
    uint16_t silence_ms;      // T_wd, 10 to 1000
    uint16_t stop_ms;         // SS1-t, 10 to 10000
    uint16_t cut_delay_ms;    // 0 to 500
    uint16_t discrepancy_ms;  // 20 to 200
    uint16_t settle_ms;       // a contact follows its output within this, 5 to 200
    bool     chain_fitted;    // a limit chain is wired
    bool     reset_from_link; // bench build
    uint8_t  key[ESTOP_KEY_BYTES];
} estop_config_t;

typedef struct {
    const estop_config_t* config;
    estop_link_t          link;
    estop_inputs_t        inputs;
    uint32_t              due_us;      // when the timer of the mode ends
    uint32_t              proof_us;    // when the step of the proof test began
    uint32_t              status_us;   // when the last status was due
    uint8_t               mode;        // estop_mode_t
    uint8_t               cause;       // estop_cause_t
    uint8_t               proof_step;  // estop_proof_t
    uint8_t               outputs;     // as last returned
    bool                  config_good;
    bool                  reset_asked; // the reset flag of the link, for its edge
} estop_t;

typedef struct {
    uint32_t now_us; // may wrap
    uint8_t  sample; // bits of estop_in_t
} estop_input_t;

/// Boots tripped. `cause` is what reset the chip; `boot_nonce` must differ from every boot before.
void estop_init(estop_t* self, const estop_config_t* config, uint32_t boot_nonce,
                estop_cause_t cause, uint32_t now_us);

/// One byte from the line. It closes no output.
void estop_receive(estop_t* self, uint8_t byte, uint32_t now_us);

/// Looks at everything, and returns the outputs to close until the next step: bits of estop_out_t.
uint8_t estop_step(estop_t* self, const estop_input_t* input);

/// When a status is due, writes ESTOP_STATUS_WIRE_BYTES to `wire` and returns that; otherwise 0.
uint8_t estop_status(estop_t* self, uint32_t now_us, uint8_t* wire);

#endif
