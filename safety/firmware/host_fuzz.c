/// Drives the core with any bytes as a script of time, pins and frames, and checks what must hold
/// after every step. Built with sanitizers; clang's fuzzer or the walk at the end give the bytes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estop.h"
#include "estop_answer.h"

#define SCRIPT_BYTES 4096u

typedef struct {
    const uint8_t* bytes;
    size_t         size;
    size_t         at;
} script_t;

typedef struct {
    estop_t  core;
    uint32_t now_us;
    uint32_t tick;
    uint16_t counter;
    uint8_t  sample;
    int      was_armed;
} world_t;

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static uint8_t next(script_t* const script)
{
    return script->at < script->size ? script->bytes[script->at++] : 0u;
}

static void must(const int fact, const char* const what)
{
    if (fact) { return; }
    (void) fprintf(stderr, "broken: %s\n", what);
    abort();
}

static int is_powered(const uint8_t mode)
{
    return mode == ESTOP_MODE_ARMED || mode == ESTOP_MODE_STOPPING || mode == ESTOP_MODE_CUTTING;
}

static void step(world_t* const world, const uint32_t us)
{
    estop_t* const core   = &world->core;
    const uint8_t  before = core->mode;
    world->now_us += us;
    const estop_input_t input   = {world->now_us, world->sample};
    const uint8_t       outputs = estop_step(core, &input);
    must(core->mode < ESTOP_MODE_COUNT && core->cause <= ESTOP_CAUSE_HOST_CLOSED, "a code");
    must(core->link.fail_count <= ESTOP_FAIL_LATCH, "the fail count's range");
    must(outputs <= ESTOP_OUT_BOTH, "an output that exists");
    must(outputs == 0u || is_powered(core->mode) || core->mode == ESTOP_MODE_PROOF, "open outputs");
    must(outputs != ESTOP_OUT_BOTH || is_powered(core->mode), "one output alone in the proof test");
    must(outputs == 0u || core->link.fail_count < ESTOP_FAIL_OFF || !is_powered(core->mode), "off");
    must(outputs == 0u || core->link.beating || core->mode == ESTOP_MODE_CUTTING, "no silence");
    if (is_powered(core->mode) && !is_powered(before)) {
        must(before == ESTOP_MODE_WAIT_RESET && core->inputs.reset_edge, "a person's edge");
        world->was_armed = 1;
    }
    uint8_t       wire[ESTOP_STATUS_WIRE_BYTES];
    const uint8_t size = estop_status(core, world->now_us, wire);
    must(size == 0u || size == ESTOP_STATUS_WIRE_BYTES, "a status of one size");
}

static void send_answer(world_t* const world, const uint8_t flags, const uint32_t spoil)
{
    static const uint8_t key[ESTOP_KEY_BYTES] = {0};
    const estop_link_t*  link                 = &world->core.link;
    const uint32_t       id                   = link->question_count - 1u;
    uint8_t              frame[ESTOP_ANSWER_BYTES];
    uint8_t              wire[ESTOP_ANSWER_BYTES + ESTOP_WIRE_EXTRA_BYTES];
    memset(frame, 0, sizeof frame);
    world->tick++;
    world->counter++;
    estop_put_u32(frame + 12, link->boot_nonce);
    estop_put_u32(frame + 16, world->tick);
    estop_put_u32(frame + 20, spoil ^ estop_answer(link->questions[id % 4u].word, world->tick));
    estop_put_u16(frame + 24, (uint16_t) id);
    frame[27] = flags;
    const uint8_t size =
        estop_seal(frame, ESTOP_ANSWER_BYTES, ESTOP_ANSWER_ID, world->counter, key, wire);
    for (uint8_t at = 0; at < size; at++) { estop_receive(&world->core, wire[at], world->now_us); }
}

/// Healthy beats, with the contacts following.
static void beat(world_t* const world, const uint8_t count, const uint8_t flags)
{
    for (uint8_t at = 0; at < count; at++) {
        send_answer(world, flags, 0);
        for (uint8_t part = 0; part < 10u; part++) {
            const unsigned back = (unsigned) world->core.outputs << 4;
            world->sample       = (uint8_t) ((world->sample & (63u ^ ESTOP_IN_BACK)) | back);
            step(world, 500);
        }
    }
}

/// What the proof test waits for.
static void prove(world_t* const world)
{
    switch (world->core.proof_step) {
    case ESTOP_PROOF_WRONG:
    case ESTOP_PROOF_FIVE: send_answer(world, 0, 1); break;
    case ESTOP_PROOF_CORRUPT:
        estop_receive(&world->core, 0x55, world->now_us);
        estop_receive(&world->core, 0x00, world->now_us);
        break;
    case ESTOP_PROOF_BURST: send_answer(world, 0, 0); break;
    case ESTOP_PROOF_SILENCE: step(world, 30000); break;
    default: beat(world, 4, 0); break;
    }
    step(world, 256);
}

/// The next thing on the way to being armed.
static void go_on(world_t* const world)
{
    const uint8_t rest = ESTOP_IN_BUTTON | ESTOP_IN_CHAIN;
    switch (world->core.mode) {
    case ESTOP_MODE_PROOF: prove(world); break;
    case ESTOP_MODE_WAIT_RESET:
        world->sample = rest | ESTOP_IN_RESET;
        beat(world, 3, 0);
        world->sample = (uint8_t) (world->sample & (63u ^ ESTOP_IN_RESET));
        break;
    default:
        world->sample = rest;
        beat(world, 10, ESTOP_FLAG_PROOF);
        break;
    }
}

static void act(world_t* const world, script_t* const script)
{
    switch (next(script) % 16u) {
    case 0: step(world, (uint32_t) next(script) * 100u); break;
    case 1: world->sample = next(script) & 63u; break;
    case 2: send_answer(world, next(script) & ESTOP_FLAG_ALL, 0); break;
    case 3: send_answer(world, 0, 1); break;
    case 4:
        for (uint8_t count = next(script) % 64u; count > 0u; count--) {
            estop_receive(&world->core, next(script), world->now_us);
        }
        break;
    default: go_on(world); break;
    }
}

/// Runs one script; returns whether the chip was armed at any time.
static int run(const uint8_t* const bytes, const size_t size)
{
    script_t             script = {bytes, size, 0};
    const estop_config_t config = {
        .silence_ms     = 25,
        .stop_ms        = 40,
        .cut_delay_ms   = next(&script),
        .discrepancy_ms = 20,
        .settle_ms      = 20,
        .chain_fitted   = (next(&script) & 1u) != 0u,
    };
    world_t world;
    memset(&world, 0, sizeof world);
    world.now_us = (uint32_t) next(&script) << 24;
    world.sample = ESTOP_IN_BUTTON | ESTOP_IN_CHAIN;
    estop_init(&world.core, &config, 0x5EED1234u, ESTOP_CAUSE_POWER_ON, world.now_us);
    step(&world, 256);
    while (script.at < script.size) { act(&world, &script); }
    return world.was_armed;
}

int LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t size)
{
    (void) run(bytes, size);
    return 0;
}

#ifndef ESTOP_LIBFUZZER
/// `host_fuzz SCRIPTS SEED`: prints how many of the scripts were ever armed, so that a walk which
/// never gets anywhere shows.
int main(const int count, char** const arguments)
{
    const unsigned long scripts = count > 1 ? strtoul(arguments[1], NULL, 10) : 100u;
    uint32_t            state   = count > 2 ? (uint32_t) strtoul(arguments[2], NULL, 10) : 1u;
    unsigned long       armed   = 0;
    for (unsigned long script = 0; script < scripts; script++) {
        uint8_t bytes[SCRIPT_BYTES];
        for (size_t at = 0; at < sizeof bytes; at++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            bytes[at] = (uint8_t) (state >> 24);
        }
        armed += (unsigned long) run(bytes, sizeof bytes);
    }
    (void) printf("%lu scripts, %lu were armed\n", scripts, armed);
    return 0;
}
#endif
