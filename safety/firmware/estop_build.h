/// Constants of a build, shared by the boards. Each can be given on the command line of make; the
/// core refuses to arm when one is out of its range.

#ifndef ESTOP_BUILD_H
#define ESTOP_BUILD_H

#include "estop.h"

#ifndef ESTOP_T_WD_MS
#define ESTOP_T_WD_MS 25 // five beats of 5 ms
#endif
#ifndef ESTOP_STOP_MS
#define ESTOP_STOP_MS 300 // SS1-t; at least v_max / a_stop of the robot and two periods
#endif
#ifndef ESTOP_CUT_DELAY_MS
#define ESTOP_CUT_DELAY_MS 0
#endif
#ifndef ESTOP_DISCREPANCY_MS
#define ESTOP_DISCREPANCY_MS 100
#endif
#ifndef ESTOP_SETTLE_MS
#define ESTOP_SETTLE_MS 50 // a relay needs 5 to 15, a contactor up to 40
#endif
#ifndef ESTOP_LIMIT_CHAIN
#define ESTOP_LIMIT_CHAIN 1
#endif
#ifndef ESTOP_RESET_FROM_LINK
#define ESTOP_RESET_FROM_LINK 0 // 1 only on a bench: then no person stands at the robot
#endif
#if ESTOP_KEYED && !defined(ESTOP_KEY)
#error "A keyed build needs KEY: eight bytes as {0x01,0x02,...}"
#endif
#ifndef ESTOP_KEY
#define ESTOP_KEY {0}
#endif

static const estop_config_t build_config = {
    .silence_ms      = ESTOP_T_WD_MS,
    .stop_ms         = ESTOP_STOP_MS,
    .cut_delay_ms    = ESTOP_CUT_DELAY_MS,
    .discrepancy_ms  = ESTOP_DISCREPANCY_MS,
    .settle_ms       = ESTOP_SETTLE_MS,
    .chain_fitted    = ESTOP_LIMIT_CHAIN,
    .reset_from_link = ESTOP_RESET_FROM_LINK,
    .key             = ESTOP_KEY,
};

#endif
