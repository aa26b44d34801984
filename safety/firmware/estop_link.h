/// The host's heartbeat as the chip sees it: questions asked, answers judged, failures counted. It
/// knows no mode and no output; the machine in estop.c acts on what is read here. Pure.

#ifndef ESTOP_LINK_H
#define ESTOP_LINK_H

#include "estop_frame.h"

#define ESTOP_QUESTION_COUNT 4u      // an answer to any of the last four may be good
#define ESTOP_QUESTION_AGE_US 25000u // and only when it is no older than this
#define ESTOP_BURST_COUNT 8u         // more good answers than this ...
#define ESTOP_BURST_US 25000u        // ... in any span of this length are early
#define ESTOP_FAIL_OFF 5u            // outputs open from here on
#define ESTOP_FAIL_LATCH 8u          // and stay open until a person resets
#define ESTOP_COUNTER_RISE_MAX 0x7FFFu
#define ESTOP_TICK_RISE_MAX 0x7FFFFFFFu

typedef struct {
    uint32_t word;
    uint32_t asked_us;
} estop_question_t;

typedef struct {
    estop_decoder_t  decoder;
    const uint8_t*   key;
    uint32_t         boot_nonce;
    uint32_t         question_count; // asked since boot; the low 16 bits name the newest
    estop_question_t questions[ESTOP_QUESTION_COUNT];
    uint32_t         good_us[ESTOP_BURST_COUNT]; // when the last good answers came, as a ring
    uint8_t          good_next;
    uint8_t          good_count; // entries of the ring that hold a time
    uint32_t         last_good_us;
    uint32_t         tick_index; // of the last good answer
    uint16_t         counter;    // of the last good answer
    uint16_t         bad_count;  // since boot, wraps
    uint8_t          fail_count; // +1 for a bad answer, -1 for a good one, 0 to ESTOP_FAIL_LATCH
    uint8_t          good_streak;
    uint8_t          bad_streak;
    uint8_t          last_bad; // verdict of the last bad answer
    uint8_t          host_mode;
    uint8_t          flags;     // of the last good answer
    bool             beating;   // a good answer came within the silence limit
    uint8_t          heard;     // flags that came since they were last cleared
    uint16_t         heard_bad; // one bit per verdict, since it was last cleared
} estop_link_t;

/// Starts with a counter at which the outputs are off: a boot is not trusted until it is earned.
void estop_link_init(estop_link_t* self, uint32_t boot_nonce, const uint8_t* key);

/// One byte from the line.
void estop_link_receive(estop_link_t* self, uint8_t byte, uint32_t now_us);

/// Notices silence. Call it in every step.
void estop_link_watch(estop_link_t* self, uint32_t now_us, uint32_t silence_us);

/// Asks a fresh question, and returns it.
uint32_t estop_link_ask(estop_link_t* self, uint32_t now_us);

#endif
