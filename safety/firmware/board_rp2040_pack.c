/// Packs the RP2040's binary as a UF2 file, which its USB boot loader takes: puts the checksum
/// behind the second boot stage, and 256 bytes into each block of 512. Runs on this machine.

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FLASH_FROM 0x10000000u
#define FLASH_BYTES_MAX 0x10000u
#define BOOT_BYTES 252u
#define CHUNK_BYTES 256u
#define BLOCK_BYTES 512u
#define FAMILY_RP2040 0xE48BFF56u
#define FAMILY_GIVEN 0x2000u

static void put(uint8_t* const place, const uint32_t value)
{
    for (uint32_t at = 0; at < 4u; at++) { place[at] = (uint8_t) (value >> (8u * at)); }
}

/// CRC-32 with the high bit first, as the boot ROM computes it.
static uint32_t crc_of(const uint8_t* const bytes, const uint32_t count)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t at = 0; at < count; at++) {
        crc ^= (uint32_t) bytes[at] << 24;
        for (uint32_t bit = 0; bit < 8u; bit++) {
            crc = (crc & 0x80000000u) != 0u ? (crc << 1) ^ 0x04C11DB7u : crc << 1;
        }
    }
    return crc;
}

static int pack(FILE* const from, FILE* const to)
{
    static uint8_t image[FLASH_BYTES_MAX];
    const uint32_t size = (uint32_t) fread(image, 1, sizeof image, from);
    if (size <= CHUNK_BYTES || fgetc(from) != EOF) { return 1; }
    put(image + BOOT_BYTES, crc_of(image, BOOT_BYTES));
    const uint32_t count = (size + CHUNK_BYTES - 1u) / CHUNK_BYTES;
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t words[8] = {0x0A324655u, 0x9E5D5157u, FAMILY_GIVEN,
                                   FLASH_FROM + at * CHUNK_BYTES, CHUNK_BYTES, at, count,
                                   FAMILY_RP2040};
        uint8_t block[BLOCK_BYTES] = {0};
        for (uint32_t word = 0; word < 8u; word++) { put(block + 4u * word, words[word]); }
        memcpy(block + 32, image + at * CHUNK_BYTES, CHUNK_BYTES);
        put(block + BLOCK_BYTES - 4u, 0x0AB16F30u);
        if (fwrite(block, 1, sizeof block, to) != sizeof block) { return 1; }
    }
    return 0;
}

int main(const int count, char** const arguments)
{
    FILE* const from = count == 3 ? fopen(arguments[1], "rb") : NULL;
    FILE* const to   = from != NULL ? fopen(arguments[2], "wb") : NULL;
    if (to != NULL && pack(from, to) == 0 && fclose(to) == 0) { return 0; }
    fprintf(stderr, "Cannot pack: expected a binary of 257 to 65536 bytes, and a file to write\n");
    return 1;
}
