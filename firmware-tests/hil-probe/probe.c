/// The second Nano of a bench with a real e-stop board: it watches the board's outputs, works its
/// switches, stands in for its relays, and says in microseconds when what happened. README.md has
/// the wiring and the lines of text that it speaks. It decides nothing about the board.
///
/// One loop and no interrupts: a turn takes some ten microseconds, which is how exact its times
/// are, and less than the two bytes that the receiver holds take on the line.

#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_TICKS 10000u // 5 ms, a relay of the usual kind
#define TICKS_PER_US 2u    // 16 MHz / 8
#define LINE_BYTES 21u     // "e3 0012d687 0012cfa0\n"
#define EVENT_COUNT 16u
#define RELAY_COUNT 2u

#define WATCHED_AT PD4 // outputs A and B: PD4, PD5
#define BACK_AT PD6    // read-backs A and B: PD6, PD7
#define SWITCHES 0x0Fu // PB0 to PB3: button A, button B, chain, reset
#define BOARD_RESET _BV(PB4)

// Times as bytes, the low one first: to cut digits from a 32-bit word in the loop takes too long.
typedef struct {
    uint8_t kind;
    uint8_t value;
    uint8_t time_us[4];
    uint8_t line_us[4]; // when the board last heard something
} event_t;

typedef struct {
    uint32_t ticks;
    uint16_t seen; // of the 16-bit counter
    uint32_t line_ticks;
    uint32_t moved_ticks[RELAY_COUNT];
    uint8_t  outputs;
    uint8_t  contacts;
    uint8_t  welded;
    uint8_t  stuck_open;
    uint8_t  kind; // of the command that is being read; 0 before
    uint8_t  value;
    event_t  events[EVENT_COUNT];
    uint8_t  event_from;
    uint8_t  event_count;
    uint8_t  sent; // bytes of the first event
    bool     lost; // events found no place
} probe_t;

static void advance(probe_t* const self)
{
    const uint16_t now = TCNT1;
    self->ticks += (uint16_t) (now - self->seen);
    self->seen = now;
}

static void put_us(uint8_t* const bytes, const uint32_t ticks)
{
    const uint32_t us = ticks / TICKS_PER_US;
    bytes[0]          = (uint8_t) (us & 0xFFu);
    bytes[1]          = (uint8_t) ((us >> 8) & 0xFFu);
    bytes[2]          = (uint8_t) ((us >> 16) & 0xFFu);
    bytes[3]          = (uint8_t) (us >> 24);
}

static void tell(probe_t* const self, const uint8_t kind, const uint8_t value)
{
    if (self->event_count == EVENT_COUNT) {
        self->lost = true;
        return;
    }
    const uint8_t  at    = (uint8_t) (self->event_from + self->event_count);
    event_t* const event = &self->events[at % EVENT_COUNT];
    event->kind  = kind;
    event->value = value;
    put_us(event->time_us, self->ticks);
    put_us(event->line_us, self->line_ticks);
    self->event_count++;
}

/// Pulls pins of port B to ground, and lets the others float.
static void pull_b(const uint8_t mask, const uint8_t pins)
{
    DDRB = (uint8_t) ((DDRB & ~mask) | (pins & mask));
}

/// A contact of a relay is read back by one that is open while it is closed.
static void move_contacts(probe_t* const self)
{
    for (uint8_t at = 0; at < RELAY_COUNT; at++) {
        const uint8_t bit = (uint8_t) (1u << at);
        if (((self->contacts ^ self->outputs) & bit) == 0u) { continue; }
        if (self->ticks - self->moved_ticks[at] >= RELAY_TICKS) { self->contacts ^= bit; }
    }
    const uint8_t closed = (uint8_t) ((self->contacts | self->welded) & ~self->stuck_open);
    const uint8_t pulled = (uint8_t) ((closed ^ 3u) << BACK_AT);
    DDRD                 = (uint8_t) ((DDRD & ~(3u << BACK_AT)) | pulled);
}

static void watch(probe_t* const self)
{
    const uint8_t outputs = (uint8_t) ((PIND >> WATCHED_AT) & 3u);
    const uint8_t changed = outputs ^ self->outputs;
    if ((EIFR & _BV(INTF1)) != 0u) {
        EIFR             = _BV(INTF1);
        self->line_ticks = self->ticks;
    }
    if (changed == 0u) { return; }
    for (uint8_t at = 0; at < RELAY_COUNT; at++) {
        if ((changed & (1u << at)) != 0u) { self->moved_ticks[at] = self->ticks; }
    }
    self->outputs = outputs;
    tell(self, 'e', outputs);
}

static void obey(probe_t* const self)
{
    const uint8_t value = self->value;
    switch (self->kind) {
    case 's': pull_b(SWITCHES, value); break;
    case 'r': pull_b(BOARD_RESET, value != 0u ? BOARD_RESET : 0u); break;
    case 'w': self->welded = value & 3u; break;
    case 'o': self->stuck_open = value & 3u; break;
    case 't': self->value = self->outputs; break;
    default: self->kind = '?'; break;
    }
    tell(self, self->kind, self->value);
}

/// A command is a letter and a digit from 0 to f, ended by a new line.
static void receive(probe_t* const self)
{
    if ((UCSR0A & _BV(RXC0)) == 0u) { return; }
    const uint8_t byte = UDR0;
    if (byte == '\n') {
        if (self->kind != 0u) { obey(self); }
        self->kind  = 0;
        self->value = 0;
    } else if (self->kind == 0u) {
        self->kind = byte;
    } else if (byte >= '0' && byte <= '9') {
        self->value = (uint8_t) (byte - '0');
    } else if (byte >= 'a' && byte <= 'f') {
        self->value = (uint8_t) (byte - 'a' + 10);
    } else {
        self->kind = '?';
    }
}

static uint8_t digit(const uint8_t nibble)
{
    return (uint8_t) (nibble < 10u ? '0' + nibble : 'a' + nibble - 10);
}

/// The high nibble of the high byte first.
static uint8_t time_digit(const uint8_t* const bytes, const uint8_t at)
{
    const uint8_t byte = bytes[3u - at / 2u];
    return digit(at % 2u == 0u ? byte >> 4 : byte & 15u);
}

static uint8_t byte_at(const event_t* const event, const uint8_t at)
{
    if (at == 0u) { return event->kind; }
    if (at == 1u) { return digit(event->value & 15u); }
    if (at == 2u || at == 11u) { return ' '; }
    if (at < 11u) { return time_digit(event->time_us, (uint8_t) (at - 3u)); }
    return at == LINE_BYTES - 1u ? '\n' : time_digit(event->line_us, (uint8_t) (at - 12u));
}

static void send(probe_t* const self)
{
    if ((UCSR0A & _BV(UDRE0)) == 0u) { return; }
    if (self->event_count == 0u) {
        if (self->lost) { tell(self, 'x', 0); }
        self->lost = false;
        return;
    }
    UDR0 = byte_at(&self->events[self->event_from], self->sent);
    self->sent++;
    if (self->sent < LINE_BYTES) { return; }
    self->sent       = 0;
    self->event_from = (uint8_t) ((self->event_from + 1u) % EVENT_COUNT);
    self->event_count--;
}

int main(void)
{
    probe_t self = {0};
    cli();
    UBRR0  = 1; // 500 kbaud, exact at 16 MHz
    UCSR0A = 0;
    UCSR0C = (uint8_t) (_BV(UCSZ01) | _BV(UCSZ00));
    UCSR0B = (uint8_t) (_BV(RXEN0) | _BV(TXEN0));
    TCCR1A = 0; // a bootloader may have left it in use
    TCCR1B = _BV(CS11);
    EICRA  = _BV(ISC11); // falling edges of PD3, as a flag: interrupts stay off
    EIMSK  = _BV(INT1);
    tell(&self, 'b', 0);
    for (;;) {
        advance(&self);
        watch(&self);
        move_contacts(&self);
        receive(&self);
        send(&self);
    }
}
