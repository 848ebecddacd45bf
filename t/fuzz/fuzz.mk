# SPDX-License-Identifier: Apache-2.0
# fuzz.mk - build the fuzz targets, and all they need under the fuzzer's flags; see run.

include config.mk

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

FUZZ_CC ?= clang
# -O0 is compiled in half of the time, for a run of seconds.
FUZZ_CFLAGS ?= -O1 -g
DIR := build/fuzz
TARGETS := $(patsubst t/fuzz/%.c,$(DIR)/%,$(sort $(wildcard t/fuzz/fuzz_*.c)))
# What runs in the kernel is what make has built; what a launcher loads is no part.
SRC := $(filter-out %.bpf.c src/hosts/plugin/% $(if $(filter yes,$(HAVE_BPF)),,src/tracing/capture/bpf/%), \
	$(sort $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))) $(ENGINES)
OBJ := $(SRC:%.c=$(DIR)/%.o)
SANITIZE := -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
COMPILE := -std=gnu11 -D_GNU_SOURCE -ffp-contract=off -pthread $(FUZZ_CFLAGS) \
	-Wall -Wextra -Isrc -Iinclude -I. -It/fuzz $(SANITIZE) $(LIB_CFLAGS)

all: $(TARGETS)

$(TARGETS): $(DIR)/%: $(DIR)/t/fuzz/%.o $(OBJ)
	@echo "  LD      $@"
	@$(FUZZ_CC) $(SANITIZE) -fsanitize=fuzzer -pthread -o $@ $^ $(LIBS) -lm

$(DIR)/%.o: %.c config.mk
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(COMPILE) -MMD -MP -c -o $@ $<

.SECONDARY:
-include $(OBJ:.o=.d) $(TARGETS:$(DIR)/%=$(DIR)/t/fuzz/%.d)
