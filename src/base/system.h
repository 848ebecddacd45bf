/* SPDX-License-Identifier: Apache-2.0 */
/* system.h - the system headers that most files of src include, compiled once by the Makefile. */
#pragma once

/* Each file must still include what it uses, because lint compiles each file without this header.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
