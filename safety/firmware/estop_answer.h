/// What a completed tick of the host answers to a question. Pure.

#ifndef ESTOP_ANSWER_H
#define ESTOP_ANSWER_H

#include <stdint.h>

/// A bijection of 32-bit words in which every input bit reaches every output bit.
uint32_t estop_mix(uint32_t word);

/// The answer that all stages of tick `tick_index`, each once and in order, give to `question`.
uint32_t estop_answer(uint32_t question, uint32_t tick_index);

#endif
