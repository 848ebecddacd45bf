/* SPDX-License-Identifier: Apache-2.0 */
/* prom_address.h - where metrics are served: an address of this host and a port. */
#pragma once

#include <mlgen/err.h>

/*
 * ADDR:PORT, where ADDR is one of IPv4, of IPv6 in brackets, or "localhost"; :PORT and PORT alone
 * are of 127.0.0.1. No name is looked up. Port 0 is one that is free.
 */

/* Is it that? 0, or -EINVAL with err. */
int prom_address_check(const char *given, struct mlgen_err *err);

/* A socket that listens there, and in `at` where that is, "127.0.0.1:9100".
 * The descriptor, or -errno with err. */
#define PROM_ADDRESS_BYTES 64
int prom_address_listen(const char *given, char at[PROM_ADDRESS_BYTES], struct mlgen_err *err);
