/* SPDX-License-Identifier: Apache-2.0 */
/* headers.h - what most suites include: the Makefile compiles it once for all of them. */
#pragma once

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
