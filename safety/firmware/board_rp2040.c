/// Board file for an RP2040 with a 12 MHz crystal, as on a Pico: register level, no SDK. It samples
/// pins, moves bytes and drives the outputs with what the core returns. README.md has the wiring.
///
///   GP0 TX, GP1 RX          the line
///   GP2, GP3                outputs A and B, active high, with pull-downs outside
///   GP4, GP5                read-backs A and B: a closed contact reads high
///   GP6, GP7                button channels, normally closed to ground
///   GP8                     limit chain, normally closed to ground
///   GP9                     reset button, normally open to ground
///   GP25                    lamp: on while both outputs are closed
///
/// Everything runs at the crystal's 12 MHz on one core; the other stays in the boot ROM. It runs
/// from SRAM: code met for the first time, such as that of a trip, would come from flash a word in
/// twenty microseconds.

#include "board_rp2040.h"
#include "estop_answer.h"
#include "estop_build.h"

#define TICK_US 250u
#define WATCHDOG_US 15000u
#define NONCE_DRAWS 1024u
#define CRYSTAL_START 470u // times 256 cycles: 10 ms
#define CYCLES_PER_US 12u

#define OUTPUT_A_PIN 2u
#define OUTPUT_B_PIN 3u
#define BACK_A_PIN 4u
#define RESET_BUTTON_PIN 9u
#define LAMP_PIN 25u
#define PIN(number) (1u << (number))
#define DRIVEN_PINS (PIN(OUTPUT_A_PIN) | PIN(OUTPUT_B_PIN) | PIN(LAMP_PIN))

// Places that the linker script names.
extern const uint32_t code_in_flash;
extern uint32_t       code_from;
extern uint32_t       code_until;
extern uint32_t       bss_from;
extern uint32_t       bss_until;
extern const uint32_t stack_top;

void start(void);
void tick_handler(void);
void open_and_hang(void);

typedef void (*handler_t)(void);

/// What the second boot stage reads: a stack, and where to start.
typedef struct {
    const uint32_t* stack;
    handler_t       start;
} entry_t;

__attribute__((section(".entry"), used)) static const entry_t entry = {&stack_top, start};

/// Exceptions 1 to 15, of which none is expected, and the first interrupt.
typedef struct {
    const uint32_t* stack;
    handler_t       handlers[16];
} vectors_t;

__attribute__((section(".vectors"), used)) static const vectors_t vectors = {
    .stack    = &stack_top,
    .handlers = {open_and_hang, open_and_hang, open_and_hang, open_and_hang, open_and_hang,
                 open_and_hang, open_and_hang, open_and_hang, open_and_hang, open_and_hang,
                 open_and_hang, open_and_hang, open_and_hang, open_and_hang, open_and_hang,
                 tick_handler},
};

// Deviation from "no mutable globals": an interrupt has no other way to hand on what it saw.
static volatile uint32_t tick_due_us;
static volatile uint8_t  ticks_due;

static uint8_t sending[ESTOP_STATUS_WIRE_BYTES];
static uint8_t sending_size;
static uint8_t sent_count;

/// What nobody expects, such as a fault of the processor: opens, and waits for the watchdog.
void open_and_hang(void)
{
    SIO_GPIO_OUT = 0;
    for (;;) {}
}

/// Sets the alarm on the grid. One that has passed meanwhile would come only when the counter has
/// gone round, so it is set again until it lies ahead.
static void set_alarm(void)
{
    do {
        tick_due_us += TICK_US;
        TIMER_ALARM0 = tick_due_us;
    } while ((uint32_t) (TIMER_NOW - tick_due_us) < 0x80000000u);
}

void tick_handler(void)
{
    TIMER_INTR = TIMER_ALARM0_BIT;
    set_alarm();
    ticks_due = 1;
}

static void start_clocks(void)
{
    XOSC_STARTUP = CRYSTAL_START;
    XOSC_CTRL    = XOSC_ENABLE_1_TO_15_MHZ;
    while ((XOSC_STATUS & XOSC_STABLE) == 0u) {}
    CLK_REF_CTRL = CLK_REF_FROM_XOSC;
    while (CLK_REF_SELECTED != CLK_REF_IS_XOSC) {}
    CLK_SYS_CTRL  = CLK_SYS_FROM_REF;
    CLK_PERI_CTRL = CLK_PERI_ON_FROM_SYS;
    WATCHDOG_TICK = WATCHDOG_TICK_ON | CYCLES_PER_US;
    RESETS_CLEAR  = RESETS_USED;
    while ((RESETS_DONE & RESETS_USED) != RESETS_USED) {}
}

static estop_cause_t reset_cause(void)
{
    if (WATCHDOG_REASON != 0u) { return ESTOP_CAUSE_WATCHDOG; }
    if ((CHIP_RESET & CHIP_RESET_BY_RUN) != 0u) { return ESTOP_CAUSE_RESET_PIN; }
    return ESTOP_CAUSE_POWER_ON; // a brown-out looks the same
}

/// The chip has no memory for a count of boots, so a nonce is drawn: the ring oscillator, which
/// nothing ties to the crystal, is sampled often enough that its wandering decides every bit.
static uint32_t draw_nonce(void)
{
    uint32_t nonce = 1;
    for (uint32_t draw = 0; draw < NONCE_DRAWS; draw++) {
        nonce = estop_mix((nonce << 1) ^ (nonce >> 31) ^ (ROSC_RANDOM_BIT & 1u));
    }
    return nonce;
}

static void start_pins(void)
{
    SIO_GPIO_OUT = 0;
    SIO_GPIO_OE  = DRIVEN_PINS;
    for (uint32_t pin = OUTPUT_A_PIN; pin <= RESET_BUTTON_PIN; pin++) {
        PAD(pin)          = pin < BACK_A_PIN ? PAD_OUTPUT : PAD_INPUT_PULLED_UP;
        PIN_FUNCTION(pin) = PIN_IS_SIO;
    }
    PIN_FUNCTION(LAMP_PIN) = PIN_IS_SIO;
}

static void start_line(void)
{
    PAD(UART_RX_PIN)          = PAD_INPUT_PULLED_UP; // nothing plugged in is a line at rest
    PIN_FUNCTION(UART_TX_PIN) = PIN_IS_UART;
    PIN_FUNCTION(UART_RX_PIN) = PIN_IS_UART;
    UART_BAUD_WHOLE           = 1; // 12 MHz / 16 / 1.5: 500 kbaud exactly
    UART_BAUD_64THS           = 32;
    UART_LINE                 = UART_8_BITS | UART_FIFOS_ON;
    UART_CONTROL              = UART_ON;
}

static void start_tick(void)
{
    tick_due_us = TIMER_NOW;
    TIMER_INTE  = TIMER_ALARM0_BIT;
    NVIC_ENABLE = TIMER_ALARM0_BIT;
    set_alarm();
}

/// Everything but the oscillators starts anew, pins first: their own pull-downs hold the outputs.
/// A debugger that halts the chip doesn't halt the watchdog.
static void start_watchdog(void)
{
    PSM_RESET_BY_WATCHDOG = PSM_ALL_BUT_OSCILLATORS;
    WATCHDOG_LOAD         = 2u * WATCHDOG_US; // counts down twice a microsecond, by its erratum E1
    WATCHDOG_CTRL         = WATCHDOG_ON;
}

static uint8_t sample(void)
{
    const uint32_t pins = SIO_GPIO_IN;
    const uint32_t low  = ~pins; // a closed switch pulls its pin low
    uint32_t       bits = 0;
    if ((low & PIN(6)) != 0u) { bits |= ESTOP_IN_BUTTON_A; }
    if ((low & PIN(7)) != 0u) { bits |= ESTOP_IN_BUTTON_B; }
    if ((low & PIN(8)) != 0u) { bits |= ESTOP_IN_CHAIN; }
    if ((low & PIN(9)) != 0u) { bits |= ESTOP_IN_RESET; }
    if ((pins & PIN(4)) != 0u) { bits |= ESTOP_IN_BACK_A; }
    if ((pins & PIN(5)) != 0u) { bits |= ESTOP_IN_BACK_B; }
    return (uint8_t) bits;
}

static void drive(const uint8_t outputs)
{
    uint32_t pins = 0;
    if ((outputs & ESTOP_OUT_A) != 0u) { pins |= PIN(OUTPUT_A_PIN); }
    if ((outputs & ESTOP_OUT_B) != 0u) { pins |= PIN(OUTPUT_B_PIN); }
    if (outputs == ESTOP_OUT_BOTH) { pins |= PIN(LAMP_PIN); }
    SIO_GPIO_OUT = pins;
    SIO_GPIO_OE  = DRIVEN_PINS;
}

/// The receiver holds 32 bytes, and no more than 13 come in a tick.
static void receive(estop_t* const core)
{
    const uint32_t time = TIMER_NOW;
    while ((UART_FLAGS & UART_RX_EMPTY) == 0u) {
        estop_receive(core, (uint8_t) (UART_DATA & 0xFFu), time);
    }
}

static void send_status(estop_t* const core)
{
    if (sent_count == sending_size) {
        sending_size = estop_status(core, TIMER_NOW, sending);
        sent_count   = 0;
    }
    while (sent_count < sending_size && (UART_FLAGS & UART_TX_FULL) == 0u) {
        UART_DATA = sending[sent_count];
        sent_count++;
    }
}

int main(void)
{
    estop_t core;
    start_pins();
    estop_init(&core, &build_config, draw_nonce(), reset_cause(), TIMER_NOW);
    start_line();
    start_tick();
    start_watchdog();
    for (;;) {
        // An interrupt that comes between the look and the sleep leaves an event, which ends it.
        while (ticks_due == 0u) { __asm__ volatile("wfe"); }
        ticks_due = 0;
        receive(&core);
        const estop_input_t input = {TIMER_NOW, sample()};
        drive(estop_step(&core, &input));
        // Fed only here, after a tick of the interrupt and a turn of the main loop: when either
        // stands still, the watchdog resets the chip, and a chip in reset holds no output.
        WATCHDOG_LOAD = 2u * WATCHDOG_US;
        send_status(&core);
    }
}

static void fill(volatile uint32_t* to, const volatile uint32_t* const until)
{
    while (to < until) { *to++ = 0; }
}

/// Runs from flash, once: brings the code to SRAM and goes there.
__attribute__((section(".start"), noreturn)) void start(void)
{
    WATCHDOG_CTRL = 0; // it may still run after it has reset the chip
    const volatile uint32_t* from = &code_in_flash;
    for (volatile uint32_t* to = &code_from; to < &code_until; to++) { *to = *from++; }
    VECTORS = (uint32_t) &vectors;
    fill(&bss_from, &bss_until);
    start_clocks();
    (void) main();
    for (;;) {}
}
