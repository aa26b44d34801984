/// The registers of the RP2040 that its board file uses, and the bits of them, by the numbers of
/// the chip's data sheet. Nothing else of the chip is touched.

#ifndef BOARD_RP2040_H
#define BOARD_RP2040_H

#include <stdint.h>

// Deviation from "no cast of an integer to a pointer": a register is an address.
#define REGISTER(address) (*(volatile uint32_t*) (address))

#define RESETS_CLEAR REGISTER(0x4000C000u + 0x3000u) // what is written as 1 leaves reset
#define RESETS_DONE REGISTER(0x4000C008u)
#define RESETS_USED ((1u << 5) | (1u << 8) | (1u << 21) | (1u << 22)) // pins, pads, timer, UART 0

#define XOSC_CTRL REGISTER(0x40024000u)
#define XOSC_ENABLE_1_TO_15_MHZ 0x00FABAA0u
#define XOSC_STATUS REGISTER(0x40024004u)
#define XOSC_STABLE (1u << 31)
#define XOSC_STARTUP REGISTER(0x4002400Cu)
#define ROSC_RANDOM_BIT REGISTER(0x4006001Cu)

#define CLK_REF_CTRL REGISTER(0x40008030u)
#define CLK_REF_FROM_XOSC 2u
#define CLK_REF_SELECTED REGISTER(0x40008038u)
#define CLK_REF_IS_XOSC (1u << CLK_REF_FROM_XOSC)
#define CLK_SYS_CTRL REGISTER(0x4000803Cu)
#define CLK_SYS_FROM_REF 0u
#define CLK_PERI_CTRL REGISTER(0x40008048u)
#define CLK_PERI_ON_FROM_SYS (1u << 11)

#define PSM_RESET_BY_WATCHDOG REGISTER(0x40010008u)
#define PSM_ALL_BUT_OSCILLATORS 0x0001FFFCu
#define CHIP_RESET REGISTER(0x40064008u)
#define CHIP_RESET_BY_RUN (1u << 16)
#define WATCHDOG_CTRL REGISTER(0x40058000u)
#define WATCHDOG_ON (1u << 30)
#define WATCHDOG_LOAD REGISTER(0x40058004u)
#define WATCHDOG_REASON REGISTER(0x40058008u)
#define WATCHDOG_TICK REGISTER(0x4005802Cu)
#define WATCHDOG_TICK_ON (1u << 9)

#define PIN_FUNCTION(pin) REGISTER(0x40014004u + 8u * (pin))
#define PIN_IS_UART 2u
#define PIN_IS_SIO 5u
#define PAD(pin) REGISTER(0x4001C004u + 4u * (pin))
#define PAD_OUTPUT 0x56u          // pulled down, 4 mA, readable
#define PAD_INPUT_PULLED_UP 0xCAu // pulled up, with hysteresis, its driver off
#define SIO_GPIO_IN REGISTER(0xD0000004u)
#define SIO_GPIO_OUT REGISTER(0xD0000010u)
#define SIO_GPIO_OE REGISTER(0xD0000020u)

#define UART_TX_PIN 0u
#define UART_RX_PIN 1u
#define UART_DATA REGISTER(0x40034000u)
#define UART_FLAGS REGISTER(0x40034018u)
#define UART_RX_EMPTY (1u << 4)
#define UART_TX_FULL (1u << 5)
#define UART_BAUD_WHOLE REGISTER(0x40034024u)
#define UART_BAUD_64THS REGISTER(0x40034028u)
#define UART_LINE REGISTER(0x4003402Cu)
#define UART_8_BITS (3u << 5)
#define UART_FIFOS_ON (1u << 4)
#define UART_CONTROL REGISTER(0x40034030u)
#define UART_ON ((1u << 0) | (1u << 8) | (1u << 9))

#define TIMER_ALARM0 REGISTER(0x40054010u)
#define TIMER_NOW REGISTER(0x40054028u)
#define TIMER_INTR REGISTER(0x40054034u)
#define TIMER_INTE REGISTER(0x40054038u)
#define TIMER_ALARM0_BIT 1u
#define NVIC_ENABLE REGISTER(0xE000E100u)
#define VECTORS REGISTER(0xE000ED08u)

#endif
