/* SPDX-License-Identifier: Apache-2.0 */
/* greeter.h - who comes to a port of a job: its own processes, which know a word, apart from
 * strangers. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first thing that is said on a connection. */
struct greeting {
	uint64_t token; /* of the process that listens */
	uint64_t rank;  /* who comes */
};

/*
 * Anyone on the network may connect to a port: a scanner of ports, a monitor, a job that was given
 * the same one. Greetings are therefore read as their bytes come, from many connections side by
 * side, and each has one deadline for all of its bytes. A stranger who says little by little, or
 * nothing, holds up nobody; where more come than there are places the oldest has to go.
 */
enum { GREETER_PLACES = 64 };

struct greeter {
	int listener;
	uint64_t token;
	uint64_t patience_ns; /* for a greeting, from its connection on */
	/* A process of the job greets: true, and fd is the taker's; false: it is not expected, and
	 * its connection is closed. */
	bool (*take)(void *who, int fd, uint64_t rank);
	void *who;
	struct greeter_guest {
		int fd;
		uint64_t until_ns;
		size_t bytes;
		struct greeting said;
		struct sockaddr_storage from;
	} guests[GREETER_PLACES]; /* the oldest first */
	unsigned count;
	uint64_t strangers;              /* connections that were not from this job */
	char stranger[INET6_ADDRSTRLEN]; /* the last of them */
};

void greeter_init(struct greeter *g, int listener, uint64_t token,
		  bool (*take)(void *who, int fd, uint64_t rank), void *who);
/* Wait for somebody to come or to speak, wait_ms at most, and hear them all. */
void greeter_look(struct greeter *g, int wait_ms);
/* "; 2 connections, the last from 10.0.0.9, were not from this job", or "". */
const char *greeter_tell(const struct greeter *g, char *text, size_t size);
/* Those who have not greeted are closed; the listener stays. */
void greeter_fini(struct greeter *g);
