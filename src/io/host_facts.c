/* SPDX-License-Identifier: Apache-2.0 */
/* host_facts.c - what a trace says of the program that wrote it and of its host. */
#include "io/host_facts.h"

#include <inttypes.h>
#include <stdio.h>

#include "config.h"

void host_facts(const struct host *h, void (*put)(void *arg, const char *key, const char *value),
		void *arg)
{
	char cpus[24], memory[24];

	snprintf(cpus, sizeof(cpus), "%" PRIu64, h->cpus);
	snprintf(memory, sizeof(memory), "%" PRIu64, h->memory_bytes);
	put(arg, "program", "mlgen");
	put(arg, "version", MLGEN_VERSION);
	put(arg, "host", h->hostname);
	put(arg, "kernel", h->kernel);
	put(arg, "cpus", cpus);
	put(arg, "memory_bytes", memory);
	put(arg, "command", h->command);
}
