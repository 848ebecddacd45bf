/* SPDX-License-Identifier: Apache-2.0 */
/* dio_time.h - a time of day as text, such as 2022-05-10T12:00:00.123456789Z, in nanoseconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* UTC, or what a +HH:MM says; from 1970 on, at most nine decimals. */
bool dio_time_take(const char *text, uint64_t *ns);
