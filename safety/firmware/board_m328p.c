/// Board file for an ATmega328P at 16 MHz: Uno, Nano, or the bare chip. It samples pins, moves
/// bytes and drives the outputs with what the core returns. README.md has the wiring.
///
///   PD0 RX, PD1 TX          the line
///   PD4, PD5                outputs A and B, active high, with pull-downs outside
///   PD6, PD7                read-backs A and B: a closed contact reads high
///   PB0, PB1                button channels, normally closed to ground
///   PB2                     limit chain, normally closed to ground
///   PB3                     reset button, normally open to ground
///   PB5                     lamp: on while both outputs are closed

#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "estop_answer.h"
#include "estop_build.h"

#define TICK_US 256u // 16 MHz / 1024 / 4
#define RING_BYTES 256u // eight answers, and what an 8-bit index wraps at
#define OUTPUT_PINS (_BV(PD4) | _BV(PD5))
#define BACK_PINS (_BV(PD6) | _BV(PD7))
#define INPUT_PINS (_BV(PB0) | _BV(PB1) | _BV(PB2) | _BV(PB3))
#define BOOT_SLOTS 2u

// Deviation from "no mutable globals": an interrupt has no other way to hand on what it saw.
static volatile uint32_t tick_count;
static volatile uint8_t  ticks_due;
static volatile uint8_t  ring[RING_BYTES];
static volatile uint8_t  ring_head;

// The bootloader clears MCUSR and hands its value over in r2; without one, MCUSR still has it.
// Deviation from C99: only assembly sees r2, and only in this section before it is used.
static uint8_t handed_over __attribute__((section(".noinit")));
void           keep_reset_cause(void) __attribute__((naked, used, section(".init0")));
void           keep_reset_cause(void)
{
    __asm__ __volatile__("sts handed_over, r2");
}

// The watchdog stays on after it has reset the chip, at its shortest time: stop it before `main`.
static uint8_t reset_flags __attribute__((section(".noinit")));
void           stop_watchdog(void) __attribute__((naked, used, section(".init3")));
void           stop_watchdog(void)
{
    reset_flags = MCUSR != 0u ? MCUSR : handed_over;
    MCUSR       = 0;
    wdt_disable();
}

ISR(TIMER0_COMPA_vect)
{
    tick_count++;
    ticks_due = 1;
}

ISR(USART_RX_vect)
{
    const uint8_t byte = UDR0;
    ring[ring_head]    = byte;
    ring_head++;
}

static uint8_t sending[ESTOP_STATUS_WIRE_BYTES];
static uint8_t sending_size;
static uint8_t sent_count;

ISR(USART_UDRE_vect)
{
    UDR0 = sending[sent_count];
    sent_count++;
    if (sent_count == sending_size) { UCSR0B = (uint8_t) (UCSR0B & ~_BV(UDRIE0)); }
}

static uint32_t now_us(void)
{
    const uint8_t status = SREG;
    cli();
    const uint32_t ticks = tick_count;
    SREG                 = status;
    return ticks * TICK_US;
}

static estop_cause_t reset_cause(void)
{
    if ((reset_flags & _BV(WDRF)) != 0u) { return ESTOP_CAUSE_WATCHDOG; }
    if ((reset_flags & _BV(PORF)) != 0u) { return ESTOP_CAUSE_POWER_ON; }
    if ((reset_flags & _BV(BORF)) != 0u) { return ESTOP_CAUSE_BROWN_OUT; }
    return ESTOP_CAUSE_RESET_PIN;
}

typedef struct {
    uint32_t count;
    uint32_t check; // the complement of `count`
} boot_slot_t;

/// Counts boots in EEPROM, in two slots in turn, so that power lost while writing costs neither: a
/// count that was used never comes again.
static uint32_t count_boot(void)
{
    boot_slot_t* const slots = (boot_slot_t*) 0;
    uint32_t           last  = 0;
    for (uint8_t at = 0; at < BOOT_SLOTS; at++) {
        boot_slot_t slot;
        eeprom_read_block(&slot, &slots[at], sizeof slot);
        if (slot.check == ~slot.count && slot.count > last) { last = slot.count; }
    }
    const boot_slot_t next = {last + 1u, ~(last + 1u)};
    eeprom_update_block(&next, &slots[next.count % BOOT_SLOTS], sizeof next);
    return next.count;
}

static void start_pins(void)
{
    PORTD = (uint8_t) ((PORTD & ~OUTPUT_PINS) | BACK_PINS);
    DDRD  = (uint8_t) ((DDRD | OUTPUT_PINS) & ~BACK_PINS);
    PORTB = INPUT_PINS; // pull-ups: a broken wire reads as open
    DDRB  = _BV(PB5);
}

static void start_line(void)
{
    UBRR0  = 1; // 500 kbaud, exact at 16 MHz
    UCSR0A = 0;
    UCSR0C = (uint8_t) (_BV(UCSZ01) | _BV(UCSZ00));
    UCSR0B = (uint8_t) (_BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0));
}

static void start_tick(void)
{
    TCCR0A = _BV(WGM01);
    OCR0A  = 3;
    TCCR0B = (uint8_t) (_BV(CS02) | _BV(CS00));
    TIMSK0 = _BV(OCIE0A);
}

static uint8_t sample(void)
{
    const uint8_t low  = (uint8_t) ~PINB; // a closed switch pulls its pin low
    const uint8_t back = PIND;
    uint8_t       bits = 0;
    if ((low & _BV(PB0)) != 0u) { bits |= ESTOP_IN_BUTTON_A; }
    if ((low & _BV(PB1)) != 0u) { bits |= ESTOP_IN_BUTTON_B; }
    if ((low & _BV(PB2)) != 0u) { bits |= ESTOP_IN_CHAIN; }
    if ((low & _BV(PB3)) != 0u) { bits |= ESTOP_IN_RESET; }
    if ((back & _BV(PD6)) != 0u) { bits |= ESTOP_IN_BACK_A; }
    if ((back & _BV(PD7)) != 0u) { bits |= ESTOP_IN_BACK_B; }
    return bits;
}

static void drive(const uint8_t outputs)
{
    uint8_t pins = 0;
    if ((outputs & ESTOP_OUT_A) != 0u) { pins |= _BV(PD4); }
    if ((outputs & ESTOP_OUT_B) != 0u) { pins |= _BV(PD5); }
    PORTD = (uint8_t) ((PORTD & ~OUTPUT_PINS) | pins);
    DDRD  = (uint8_t) (DDRD | OUTPUT_PINS);
    PORTB = (uint8_t) (INPUT_PINS | (outputs == ESTOP_OUT_BOTH ? _BV(PB5) : 0u));
}

/// Bytes wait in the ring while a tick is due.
static void receive(estop_t* const core, uint8_t* const tail)
{
    const uint32_t time = now_us();
    while (ticks_due == 0u && *tail != ring_head) {
        estop_receive(core, ring[*tail], time);
        (*tail)++;
    }
}

static void send_status(estop_t* const core)
{
    if ((UCSR0B & _BV(UDRIE0)) != 0u) { return; }
    const uint8_t size = estop_status(core, now_us(), sending);
    if (size == 0u) { return; }
    sending_size = size;
    sent_count   = 0;
    UCSR0B       = (uint8_t) (UCSR0B | _BV(UDRIE0));
}

/// The watchdog is fed only here, after a tick of the interrupt and a turn of the main loop: when
/// either stands still, it resets the chip, and a chip in reset holds no output.
static void tick(estop_t* const core)
{
    ticks_due                 = 0;
    const estop_input_t input = {now_us(), sample()};
    drive(estop_step(core, &input));
    wdt_reset();
}

/// Sleeps unless something came since it was looked at: with interrupts off until the sleep itself,
/// none can slip in between.
static void rest(const uint8_t tail)
{
    cli();
    if (ticks_due == 0u && tail == ring_head) {
        sei();
        sleep_cpu();
    }
    sei();
}

int main(void)
{
    estop_t core;
    uint8_t tail = 0;
    start_pins();
    const uint32_t nonce = estop_mix(count_boot());
    estop_init(&core, &build_config, nonce, reset_cause(), 0);
    start_line();
    start_tick();
    SMCR = _BV(SE); // idle: timer and line go on
    wdt_enable(WDTO_15MS);
    sei();
    for (;;) {
        // One job a turn, the tick before all others: it is never later than the longest of them.
        if (ticks_due != 0u) {
            tick(&core);
            send_status(&core);
        } else {
            receive(&core, &tail);
        }
        rest(tail);
    }
}
