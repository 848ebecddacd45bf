/* SPDX-License-Identifier: Apache-2.0 */
/* host_facts.h - what a trace says of the program that wrote it and of its host. */
#pragma once

#include "io/host.h"

/* Each key and its value, in turn: program, version, host, kernel, cpus, memory_bytes, command. */
void host_facts(const struct host *h, void (*put)(void *arg, const char *key, const char *value),
		void *arg);
