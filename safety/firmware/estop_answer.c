/// The answer of a tick, folded from the token of each of its stages. The host has no such list:
/// there each token lives only in the file of its stage, so that no one else can answer.

#include "estop_answer.h"

#include "estop_flash.h"

#define STAGE_COUNT 7u

// arrivals, observe, estimate, judge, supervise, approve, submit
static const uint32_t tokens[STAGE_COUNT] ESTOP_FLASH = {
    0x9B1D40E7u, 0x2CE86A53u, 0xD47F1B96u, 0x61A5C83Du, 0xF2083EB4u, 0x4E96D52Bu, 0xA73B09CEu,
};

uint32_t estop_mix(uint32_t word)
{
    word ^= word >> 16;
    word *= 0x21F0AAADu;
    word ^= word >> 16;
    word *= 0x735A2D97u;
    word ^= word >> 16;
    return word;
}

uint32_t estop_answer(const uint32_t question, const uint32_t tick_index)
{
    uint32_t answer = estop_mix(question ^ tick_index);
    for (uint8_t stage = 0; stage < STAGE_COUNT; stage++) {
        answer = estop_mix(answer ^ ESTOP_FLASH_U32(&tokens[stage]));
    }
    return answer;
}
