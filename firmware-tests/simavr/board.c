/// An ATmega328P in simavr, driven line by line over standard input: a second opinion on the e-stop
/// firmware, in a process of its own. It links libsimavr, which is under the GNU GPL; nothing else
/// of this repository links it, and it is built only for tests.
///
///   g PORT PIN TIED    tie a pin to ground (1) or let its pull-up have it (0)
///   b CYCLE BYTE       a byte whose last bit passes at this cycle
///   r FLAGS            reset, with these bits of MCUSR
///   h main|all|tick    stop the main loop, everything, or the tick interrupt
///   c                  the flash as it was
///   u CYCLE            run, and answer with what happened:
///       o CYCLE BITS       the outputs PD4 and PD5, each time they change
///       t CYCLE BYTE       a byte goes to the line
///       w CYCLE            the watchdog has reset the chip
///       d CYCLE            done

#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_hex.h>
#include <simavr/sim_interrupts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HZ 16000000u
#define BYTE_CYCLES 320u // ten bits at 500 kbaud
#define BYTES_MAX 65536u
#define LINE_CHARS 128
#define MCUSR_AT 0x54
#define WDRF 8u
#define TIMSK0_AT 0x6E
#define PORTD_AT 0x2B
#define DDRD_AT 0x2A
#define RJMP_SELF_LOW 0xFFu
#define RJMP_SELF_HIGH 0xCFu

typedef struct {
    unsigned long long cycle;
    unsigned           byte;
} due_t;

typedef struct {
    avr_t*             avr;
    uint8_t*           flash;
    due_t*             bytes;
    size_t             byte_next;
    size_t             byte_count;
    unsigned long long base; // cycles before the emulator's own counter began anew
    unsigned long long last;
    unsigned           outputs;
    unsigned           inputs[2]; // levels of ports B and D
    int                resetting; // by a command, not by the watchdog
    int                forgot;    // a reset has made the pins forget their levels
} board_t;

static board_t board;

static unsigned long long now(void)
{
    const unsigned long long own = board.avr->cycle;
    if (board.base + own < board.last) { board.base = board.last - own; }
    board.last = board.base + own;
    return board.last;
}

/// From the registers themselves: a reset changes them without telling.
static void tell_outputs(void)
{
    const unsigned high = board.avr->data[PORTD_AT] & board.avr->data[DDRD_AT];
    const unsigned bits = (high >> 4) & 3u;
    if (bits == board.outputs) { return; }
    board.outputs = bits;
    (void) printf("o %llu %u\n", now(), bits);
}

static void on_pin(struct avr_irq_t* irq, uint32_t value, void* context)
{
    (void) irq;
    (void) value;
    (void) context;
    tell_outputs();
}

static void on_byte(struct avr_irq_t* irq, uint32_t value, void* context)
{
    (void) irq;
    (void) context;
    (void) printf("t %llu %u\n", now(), value & 0xFFu);
}

static void on_sleep(avr_t* avr, avr_cycle_count_t cycles)
{
    (void) avr;
    (void) cycles; // virtual time: nobody waits
}

static avr_cycle_count_t on_slice_end(avr_t* avr, avr_cycle_count_t when, void* context)
{
    (void) avr;
    (void) when;
    (void) context;
    return 0;
}

static void on_reset(avr_t* avr)
{
    (void) avr;
    board.forgot = 1;
    if (!board.resetting) { (void) printf("w %llu\n", now()); }
}

static void drive_pin(const char port, const unsigned pin)
{
    const unsigned at    = port == 'B' ? 0u : 1u;
    const unsigned level = (board.inputs[at] >> pin) & 1u;
    avr_ioport_external_t external;
    external.name  = (unsigned long) port;
    external.mask  = port == 'B' ? 0x0Fu : 0xC0u;
    external.value = board.inputs[at] & external.mask;
    avr_ioctl(board.avr, (uint32_t) AVR_IOCTL_IOPORT_SET_EXTERNAL(port), &external);
    avr_irq_t* const irq =
        avr_io_getirq(board.avr, (uint32_t) AVR_IOCTL_IOPORT_GETIRQ(port), (int) pin);
    // A level that is not new is not passed on, and a reset forgets levels: make it new.
    avr_raise_irq(irq, 1u - level);
    avr_raise_irq(irq, level);
}

static void drive_all(void)
{
    board.forgot = 0;
    for (unsigned pin = 0; pin < 4u; pin++) { drive_pin('B', pin); }
    for (unsigned pin = 6; pin < 8u; pin++) { drive_pin('D', pin); }
}

static void start(const char* const image)
{
    uint32_t size  = 0;
    uint32_t from  = 0;
    uint8_t* bytes = read_ihex_file(image, &size, &from);
    board.avr      = avr_make_mcu_by_name("atmega328p");
    if (bytes == NULL || board.avr == NULL) { exit(2); }
    avr_init(board.avr);
    board.avr->frequency = HZ;
    board.avr->log       = LOG_NONE;
    board.avr->sleep     = on_sleep;
    board.avr->reset     = on_reset;
    memset(board.avr->flash, 0xFF, board.avr->flashend + 1u);
    memcpy(board.avr->flash + from, bytes, size);
    board.avr->codeend = board.avr->flashend;
    board.flash        = malloc(board.avr->flashend + 1u);
    board.bytes        = calloc(BYTES_MAX, sizeof *board.bytes);
    if (board.flash == NULL || board.bytes == NULL) { exit(2); }
    memcpy(board.flash, board.avr->flash, board.avr->flashend + 1u);
    board.avr->data[MCUSR_AT] = 1;
    board.inputs[0]           = 0xFFu;
    board.inputs[1]           = 0xFFu;

    uint32_t flags = 0;
    avr_ioctl(board.avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_t* const output =
        avr_io_getirq(board.avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT);
    avr_irq_register_notify(output, on_byte, NULL);
    for (int pin = 4; pin < 6; pin++) {
        avr_irq_register_notify(avr_io_getirq(board.avr, AVR_IOCTL_IOPORT_GETIRQ('D'), pin),
                                on_pin, NULL);
    }
    drive_all();
}

/// The emulator gives a byte to the chip one byte's time after it is told of it.
static void deliver(void)
{
    while (board.byte_next < board.byte_count &&
           board.bytes[board.byte_next].cycle <= now() + BYTE_CYCLES) {
        avr_raise_irq(avr_io_getirq(board.avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT),
                      board.bytes[board.byte_next].byte);
        board.byte_next++;
    }
    if (board.byte_next == board.byte_count) {
        board.byte_next  = 0;
        board.byte_count = 0;
    }
}

static void run_until(const unsigned long long until)
{
    while (now() < until) {
        unsigned long long stop = until;
        deliver();
        if (board.byte_next < board.byte_count) {
            const unsigned long long due = board.bytes[board.byte_next].cycle - BYTE_CYCLES;
            if (due < stop) { stop = due; }
        }
        // A sleeping chip runs to its next timer: this one ends the slice.
        avr_cycle_timer_register(board.avr, stop - now(), on_slice_end, NULL);
        while (now() < stop) {
            const int state = avr_run(board.avr);
            tell_outputs();
            if (board.forgot) { drive_all(); }
            if (state == cpu_Done || state == cpu_Crashed) { exit(3); }
        }
        avr_cycle_timer_cancel(board.avr, on_slice_end, NULL);
    }
    (void) printf("d %llu\n", now());
    (void) fflush(stdout);
}

static void reset(const unsigned flags)
{
    board.resetting = 1;
    avr_reset(board.avr);
    board.resetting           = 0;
    board.avr->data[MCUSR_AT] = (uint8_t) flags;
    drive_all();
    tell_outputs();
}

static void hang(const char* const what)
{
    if (strcmp(what, "tick") == 0) {
        board.avr->data[TIMSK0_AT] = 0;
        return;
    }
    while (board.avr->sreg[S_I] == 0u || board.avr->state == cpu_Sleeping) {
        (void) avr_run(board.avr);
    }
    board.avr->flash[board.avr->pc]      = RJMP_SELF_LOW;
    board.avr->flash[board.avr->pc + 1u] = RJMP_SELF_HIGH;
    if (strcmp(what, "all") == 0) { board.avr->sreg[S_I] = 0; }
}

static void obey(const char* const line)
{
    char               port = 0;
    char               word[8];
    unsigned           first  = 0;
    unsigned           second = 0;
    unsigned long long cycle  = 0;
    if (sscanf(line, "g %c %u %u", &port, &first, &second) == 3) {
        unsigned* const levels = &board.inputs[port == 'B' ? 0 : 1];
        *levels                = (*levels & ~(1u << first)) | ((second == 0u ? 1u : 0u) << first);
        drive_pin(port, first);
    } else if (sscanf(line, "b %llu %u", &cycle, &first) == 2) {
        if (board.byte_count == BYTES_MAX) { exit(4); }
        board.bytes[board.byte_count++] = (due_t) {cycle, first};
    } else if (sscanf(line, "r %u", &first) == 1) {
        reset(first);
    } else if (sscanf(line, "h %7s", word) == 1) {
        hang(word);
    } else if (line[0] == 'c') {
        memcpy(board.avr->flash, board.flash, board.avr->flashend + 1u);
    } else if (sscanf(line, "u %llu", &cycle) == 1) {
        run_until(cycle);
    } else {
        exit(5);
    }
}

int main(const int count, char** const arguments)
{
    char line[LINE_CHARS];
    if (count != 2) { return 1; }
    start(arguments[1]);
    while (fgets(line, sizeof line, stdin) != NULL) { obey(line); }
    return 0;
}
