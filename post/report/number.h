/* number.h: figures as people read them. */
#ifndef POST_REPORT_NUMBER_H
#define POST_REPORT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Long enough for every figure. */
#define NUMBER_SIZE 48

/* All return `buffer`. */
const char *number_count(char buffer[NUMBER_SIZE], uint64_t n);     /* 1,234,567 */
const char *number_bytes(char buffer[NUMBER_SIZE], uint64_t bytes); /* 999 B, 1.21 MiB */
const char *number_change(char buffer[NUMBER_SIZE], uint64_t from, uint64_t to, bool bytes); /* +1.21 MiB */
const char *number_percent(
        char buffer[NUMBER_SIZE], uint64_t part, uint64_t whole);   /* 12.3 %; "-" of nothing */
const char *number_duration(char buffer[NUMBER_SIZE], uint64_t ns); /* 12.3 µs, 1.234 s */

#endif
