# SPDX-License-Identifier: Apache-2.0
# Makefile - build, test, check and install mlgen; V=1 prints the commands.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DEFAULT_GOAL := all

# Everything but cleaning needs to know what configure found.
ifneq ($(filter-out clean distclean,$(or $(MAKECMDGOALS),all)),)
-include config.mk
# An engine, or a file of one, that came or went is news for configure.
ifneq ($(sort $(ENGINE_FILES)),$(sort $(wildcard engines/*.c engines/*/*.c)))
config.mk: engines-changed
endif
endif

config.mk: configure
	$(if $(wildcard config.mk),@echo "  CONFIG  ./configure $(value CONFIGURE_ARGS)")
	@./configure $(CONFIGURE_ARGS)

config.h: config.mk ;

V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wundef -Wvla \
	-Wformat=2 -Wwrite-strings -Wdouble-promotion

# What the sources rely on, whatever CFLAGS says.
LANGUAGE := -std=gnu11 -D_GNU_SOURCE -ffp-contract=off -pthread
INCLUDES := -Isrc -Iinclude -I.
COMPILE = $(LANGUAGE) $(INCLUDES) $(CFLAGS) $(WARNINGS) $(WERROR) \
	$(SANITIZE_FLAGS) $(LIB_CFLAGS)
# An engine sees the public headers and those of its own folder.
COMPILE_ENGINE = $(filter-out -Isrc -I.,$(COMPILE))
LINK = $(CFLAGS) $(LDFLAGS) $(SANITIZE_FLAGS) -pthread

LIBRARY := build/libmlgen.a
# What runs in the kernel is compiled apart; without it, nothing asks for it.
KERNEL_SRC := $(wildcard src/*/*/*.bpf.c)
# Compiled against each MPI that configure found, and loaded by a launcher's run.
PLUGIN_SRC := src/hosts/plugin/mpi_plugin.c
PLUGINS = $(MPI_FOUND:%=build/mlgen-mpi-%.so)
LIBRARY_SRC = $(filter-out $(KERNEL_SRC) $(PLUGIN_SRC) $(if $(filter yes,$(HAVE_BPF)),, \
	src/capture/bpf/%),$(sort $(wildcard src/*/*.c src/*/*/*.c))) $(ENGINES)
LIBRARY_OBJ = $(LIBRARY_SRC:%.c=build/%.o)
# The program around them.
PROGRAM_OBJ := $(patsubst %.c,build/%.o,$(sort $(wildcard src/*.c)))
UNIT_SRC := $(sort $(wildcard t/unit/test_*.c))
UNIT_OBJ := build/t/unit/main.o $(UNIT_SRC:%.c=build/%.o)
UNIT_NAMES := $(UNIT_SRC:t/unit/test_%.c=%)
BENCH := $(patsubst %.c,build/%,$(sort $(wildcard t/bench/*.c)))
# mlgen itself in virtual time and on a made-up machine: t/golden/sim.h.
GOLDEN_OBJ := $(patsubst %.c,build/%.o,$(sort $(wildcard t/golden/*.c)))
GOLDEN_WRAPS = $(shell awk -F', ' '/^\tX/ { print "-Wl,--wrap=" $$2 }' \
	t/golden/wraps.h)
# What the tests meet mlgen with; faultfs only where libfuse is.
FUSE_LIBS := $(shell pkg-config --libs fuse3 2>/dev/null)
TOOLS := $(filter-out $(if $(FUSE_LIBS),,%/faultfs), \
	$(patsubst %.c,build/%,$(sort $(wildcard t/tools/*.c))))
# What shells complete: the templates with the tables of the program in them.
COMPLETIONS := build/completion/mlgen.bash build/completion/_mlgen
OBJ = $(PROGRAM_OBJ) $(LIBRARY_OBJ) $(UNIT_OBJ) build/t/lint/manlists.o \
	$(BENCH:%=%.o) $(TOOLS:%=%.o) $(GOLDEN_OBJ)

.PHONY: all check check-slow check-hosts golden mutate fuzz lint bench demo man \
	completion install uninstall dist clean distclean engines-changed always

all: mlgen $(PLUGINS)

mlgen: $(PROGRAM_OBJ) $(LIBRARY)
build/unit-tests: $(UNIT_OBJ) $(LIBRARY)
build/manlists: build/t/lint/manlists.o $(LIBRARY)
build/golden/mlgen: $(PROGRAM_OBJ) $(GOLDEN_OBJ) $(LIBRARY)
$(BENCH): %: %.o $(LIBRARY)
$(TOOLS): %: %.o
build/t/tools/maketrace: $(LIBRARY)
build/t/tools/mergetable: $(LIBRARY)
build/t/tools/trace_text: $(LIBRARY)
build/t/tools/record_bpf: $(LIBRARY)
build/t/tools/striptrace: $(LIBRARY)
build/t/tools/faultfs: private LIBS += $(FUSE_LIBS)
build/unit-tests: private LIBS += $(CHECK_LIBS)
build/golden/mlgen: private LIBS += $(GOLDEN_WRAPS)
$(UNIT_OBJ): private COMPILE += $(CHECK_CFLAGS)
$(UNIT_OBJ): | build/unit-suites.h

mlgen build/unit-tests build/manlists build/golden/mlgen $(BENCH) $(TOOLS):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LINK) -o $@ $^ $(LIBS) -lm

# Made anew, so that an object whose source is gone leaves it.
$(LIBRARY): $(LIBRARY_OBJ) build/objects
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(LIBRARY_OBJ)

build/engines/%.o: engines/%.c build/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE_ENGINE) -MMD -MP -c -o $@ $<

build/%.o: %.c build/flags | config.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE) -MMD -MP -c -o $@ $<

build/mlgen-mpi-%.so: $(PLUGIN_SRC) src/hosts/mpi_plugin.h build/flags config.mk
	$(call say,MPI,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(LIB_CFLAGS),$(COMPILE)) $(MPI_CFLAGS_$*) -fPIC \
		-shared $(LDFLAGS) -o $@ $< $(MPI_LIBS_$*)

# With its line numbers: they are the descriptions of types (BTF), too.
build/%.bpf.o: %.bpf.c build/flags
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF_CC) $(BPF_CFLAGS) -Isrc $(LIB_CFLAGS) -Wall -Wextra \
		-Wno-unused-parameter $(WERROR) -MMD -MP -c -o $@ $<

# Which has the other one in it, as bytes.
build/src/capture/bpf/bpf_object.o: build/src/capture/bpf/capture.bpf.o

# And what each page has in it.
build/src/report/html/html_parts.o: $(wildcard src/report/html/*.css \
	src/report/html/*.js) $(CHARTJS)

-include $(OBJ:.o=.d) $(KERNEL_SRC:%.c=build/%.d)

# Files that change only when what they say does: other flags or another list
# of sources rebuild, the same ones do not.
define update
$(shell mkdir -p $(@D))$(file >$@.new,$(1))@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef

build/flags: always
	$(call update,$(CC) $(COMPILE) $(LINK) $(LIBS) $(BPF_CC) $(BPF_CFLAGS))

build/objects: always
	$(call update,$(LIBRARY_OBJ))

# The commit that is built, of a checkout of this very folder; of an archive none.
build/commit.h: always
	$(call update,#define MLGEN_COMMIT "$(shell [ ! -e .git ] || git describe \
		--always --dirty --abbrev=12 --exclude='*' 2>/dev/null)")

build/src/main.o: build/commit.h

build/unit-suites.h: always
	$(call update,#define UNIT_SUITES(X) $(foreach name,$(UNIT_NAMES),X($(name))))

# ---- tests ------------------------------------------------------------------

# Under AddressSanitizer, too, memory that cannot be had is a NULL to be met.
RUN = SANITIZE='$(SANITIZERS)' \
	ASAN_OPTIONS=allocator_may_return_null=1:$$ASAN_OPTIONS \
	CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-30} \
	t/func/run $(if $(RETRY),-r) $(if $(SANITIZERS),-t 600)

# RETRY=y: what failed runs once more, by itself (t/func/run -r).
# Which scripts, and which suites of the unit tests: a pattern of grep -E.
CHECKS ?= $(sort $(wildcard t/func/[0-9]*.sh))
SUITES ?= .*

# Without libcheck the scripts run all the same.
UNIT_TESTS = $(if $(filter yes,$(HAVE_CHECK)),build/unit-tests)

check: mlgen build/golden/mlgen $(UNIT_TESTS) $(TOOLS) $(COMPLETIONS)
	$(Q)HAVE_CHECK=$(HAVE_CHECK) t/func/needs
	$(Q)$(RUN) $(UNIT_TESTS:%=-u % -s '$(SUITES)') $(CHECKS)

# Every wording and figure that golden files hold, as it is now.
golden: build/golden/mlgen build/t/tools/maketrace build/t/tools/mergetable
	$(Q)t/golden/run --update

# What no test notices of changes at places drawn by chance; an hour or so.
mutate: build/unit-tests build/golden/mlgen
	$(Q)t/mutate/run

check-slow: mlgen $(TOOLS)
	$(Q)$(RUN) -t 1200 $(sort $(wildcard t/func/slow/*.sh))

# Of several hosts, which are namespaces: root makes them.
check-hosts: all $(TOOLS)
	$(Q)$(RUN) -j 4 -t 600 $(sort $(wildcard t/hosts/[0-9]*.sh))

# Seconds for each target.
FUZZ_SECONDS ?= 20

fuzz: mlgen
	$(Q)t/fuzz/run $(FUZZ_SECONDS)

lint: mlgen build/manlists build/unit-suites.h build/commit.h
	$(Q)CC='$(CC)' COMPILE='$(COMPILE)' t/lint/run

bench: mlgen $(BENCH)
	$(Q)status=0; for script in $(sort $(wildcard t/bench/*.sh)); do \
		echo "  BENCH   $$script"; \
		MLGEN='$(CURDIR)/mlgen' BENCH='$(CURDIR)/build/t/bench' \
			$$script || status=1; \
	done; exit $$status

demo: mlgen
	$(Q)./mlgen quickstart.job --html=mlgen-demo.html
	$(Q)echo "mlgen-demo.html has it as a page: open it in a browser"

# The lists of options and metrics in man/, from the tables in the program.
man: build/manlists
	$(Q)t/lint/man --update

# ---- install ----------------------------------------------------------------

INSTALL ?= install
JOBS := $(sort $(wildcard jobs/*.job))
EXAMPLES := $(sort $(wildcard examples/*.* examples/*/*.*))
HEADERS := $(sort $(wildcard include/mlgen/*.h))
PAGES := $(sort $(wildcard man/*.[1-8]))
page_dir = $(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(1)))

# Where shells look for completions.
bash_dir = $(DESTDIR)$(datadir)/bash-completion/completions
ZSH_DIR = $(datadir)/zsh/site-functions
zsh_dir = $(DESTDIR)$(ZSH_DIR)

completion: $(COMPLETIONS)

$(COMPLETIONS): build/%: %.in build/manlists config.mk
	$(call say,TABLES,$@)
	$(Q)mkdir -p $(@D)
	$(Q)build/manlists --completion >$@.options
	$(Q)sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' \
		-e "s|@ENGINES@|$$(build/manlists --engines)|" \
		-e 's|@JOBS_DIR@|$(datadir)/mlgen/jobs|' $< >$@.new
	$(Q)mv $@.new $@

install: mlgen $(PLUGINS) $(COMPLETIONS)
	$(call say,INSTALL,$(DESTDIR)$(prefix))
	$(Q)$(INSTALL) -D -m 644 build/completion/mlgen.bash $(bash_dir)/mlgen
	$(Q)$(INSTALL) -D -m 644 build/completion/_mlgen $(zsh_dir)/_mlgen
	$(Q)$(INSTALL) -D -m 755 mlgen $(DESTDIR)$(bindir)/mlgen
	$(Q)$(foreach f,$(PLUGINS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(libdir)/mlgen/$(notdir $(f)) &&) :
	$(Q)$(foreach f,$(JOBS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(datadir)/mlgen/$(f) &&) :
	$(Q)$(foreach f,$(EXAMPLES),$(INSTALL) -D \
		-m $(if $(filter %.sh %.py,$(f)),755,644) $(f) \
		$(DESTDIR)$(docdir)/$(f) &&) :
	$(Q)$(foreach f,$(HEADERS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(includedir)/mlgen/$(notdir $(f)) &&) :
	$(Q)$(foreach f,$(PAGES),$(INSTALL) -D -m 644 $(f) \
		$(call page_dir,$(f))/$(notdir $(f)) &&) :

uninstall:
	$(call say,REMOVE,$(DESTDIR)$(prefix))
	$(Q)rm -f $(DESTDIR)$(bindir)/mlgen $(bash_dir)/mlgen \
		$(zsh_dir)/_mlgen \
		$(DESTDIR)$(libdir)/mlgen/mlgen-mpi-*.so \
		$(JOBS:%=$(DESTDIR)$(datadir)/mlgen/%) \
		$(EXAMPLES:%=$(DESTDIR)$(docdir)/%) \
		$(HEADERS:include/%=$(DESTDIR)$(includedir)/%) \
		$(foreach f,$(PAGES),$(call page_dir,$(f))/$(notdir $(f)))
	$(Q)for dir in $(DESTDIR)$(libdir)/mlgen $(DESTDIR)$(datadir)/mlgen/jobs \
		$(DESTDIR)$(datadir)/mlgen $(DESTDIR)$(includedir)/mlgen \
		$(addprefix $(DESTDIR)$(docdir)/,$(sort \
			$(dir $(wildcard examples/*/*))) examples) \
		$(DESTDIR)$(docdir); do \
		[ ! -d $$dir ] || rmdir --ignore-fail-on-non-empty $$dir; done

# The last commit as one file, which is built without git.
DIST = mlgen-$(VERSION)
DISTDIR ?= .

dist:
	$(call say,DIST,$(DISTDIR)/$(DIST).tar.gz)
	$(Q)git diff --quiet HEAD || echo "make dist: the tree has changes" \
		"that are not committed; they are not in it" >&2
	$(Q)git archive --prefix=$(DIST)/ \
		--output=$(DISTDIR)/$(DIST).tar.gz HEAD

clean:
	$(Q)rm -rf build mlgen

distclean: clean
	$(Q)rm -f config.mk config.h config.log
