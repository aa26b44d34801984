// Second boot stage of the RP2040: the boot ROM copies these 252 bytes to SRAM and starts them. It
// tells the flash controller to read by the plain serial command that every flash chip knows, then
// starts the firmware behind it. The checksum that the boot ROM asks for comes from the packer.

    .syntax unified
    .cpu cortex-m0plus
    .thumb

    .equ SSI, 0x18000000
    .equ CTRLR0, 0x00
    .equ CTRLR1, 0x04
    .equ SSIENR, 0x08
    .equ BAUDR, 0x14
    .equ SPI_CTRLR0, 0xf4

    .section .boot, "ax"
    .thumb_func
boot:
    ldr  r0, =SSI
    movs r1, #0
    str  r1, [r0, #SSIENR]      // off while it is set up
    str  r1, [r0, #CTRLR1]      // one word a read
    movs r1, #4
    str  r1, [r0, #BAUDR]       // a quarter of the system clock: 3 MHz
    ldr  r1, =(31 << 16) | (3 << 8)
    str  r1, [r0, #CTRLR0]      // 32 bits a frame, a command and then data, one wire each way
    movs r2, #SPI_CTRLR0
    ldr  r1, =(0x03 << 24) | (2 << 8) | (6 << 2)
    str  r1, [r0, r2]           // command 03 of 8 bits, 24 bits of address
    movs r1, #1
    str  r1, [r0, #SSIENR]
    ldr  r0, =0x10000100        // the firmware: its stack, then where it starts
    ldr  r1, [r0]
    mov  sp, r1
    ldr  r1, [r0, #4]
    bx   r1

    .ltorg
