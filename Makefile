# SPDX-License-Identifier: Apache-2.0
# Makefile - build, test, check and install mlgen; V=1 prints the commands.
#
# O=DIR builds another configuration next to the one in the top of the tree: ./configure O=DIR
# writes DIR/config.mk, and make O=DIR leaves everything in DIR: the program and DIR/build.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DEFAULT_GOAL := all

O ?= .
# What precedes the path of every file that is made: nothing in the top of the tree.
P := $(if $(filter-out . ./ $(CURDIR),$(O)),$(O:%/=%)/)
B := $(P)build

# Everything but cleaning needs to know what configure found.
ifneq ($(filter-out clean distclean,$(or $(MAKECMDGOALS),all)),)
-include $(P)config.mk
# An engine, or a file of one, that came or went is news for configure.
ifneq ($(sort $(ENGINE_FILES)),$(sort $(wildcard engines/*.c engines/*/*.c)))
$(P)config.mk: engines-changed
endif
endif

$(P)config.mk: configure
	$(if $(wildcard $@),@echo "  CONFIG  ./configure $(value CONFIGURE_ARGS)")
	@./configure $(or $(CONFIGURE_ARGS),$(if $(P),O=$(O)))

$(P)config.h: $(P)config.mk ;

V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wundef -Wvla \
	-Wformat=2 -Wwrite-strings -Wdouble-promotion

# What the sources rely on, whatever CFLAGS says.
LANGUAGE := -std=gnu11 -D_GNU_SOURCE -ffp-contract=off -pthread
INCLUDES := -Isrc -Iinclude -I$(O)
COMPILE = $(LANGUAGE) $(INCLUDES) $(CFLAGS) $(WARNINGS) $(WERROR) \
	$(SANITIZE_FLAGS) $(LIB_CFLAGS)
# An engine sees the public headers and those of its own folder.
COMPILE_ENGINE = $(filter-out -Isrc -I$(O),$(COMPILE))
# Tests are compiled more often than they run, so their own code is not optimised.
NOT_OPTIMISED := -O0 -U_FORTIFY_SOURCE
# Objects come out of the cache of compiled objects where ccache is installed.
CCACHE := $(shell command -v ccache 2>/dev/null)
LINK = $(CFLAGS) $(LDFLAGS) $(SANITIZE_FLAGS) $(SANITIZE_LINK) -pthread

LIBRARY := $(B)/libmlgen.a
# What runs in the kernel is compiled apart; without it, nothing asks for it.
KERNEL_SRC := $(wildcard src/tracing/capture/bpf/*.bpf.c)
# Compiled against each MPI that configure found, and loaded by a launcher's run.
PLUGIN_SRC := src/hosts/plugin/mpi_plugin.c
PLUGINS = $(MPI_FOUND:%=$(B)/mlgen-mpi-%.so)
LIBRARY_SRC = $(filter-out $(KERNEL_SRC) $(PLUGIN_SRC) $(if $(filter yes,$(HAVE_BPF)),, \
	src/tracing/capture/bpf/%),$(sort $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))) $(ENGINES)
LIBRARY_OBJ = $(LIBRARY_SRC:%.c=$(B)/%.o)
# The program around them, which finds the shipped jobs next to itself.
PROGRAM := $(P)mlgen
JOBS_LINK := $(if $(P),$(P)jobs)
TRACER := $(P)mltrace
TRACER_OBJ := $(B)/src/mltrace.o
PROGRAM_OBJ := $(filter-out $(TRACER_OBJ),$(patsubst %.c,$(B)/%.o,$(sort $(wildcard src/*.c))))
UNIT_SRC := $(sort $(wildcard $(addsuffix /test_*.c,t/unit t/unit/* t/unit/*/* t/unit/*/*/*)))
UNIT_OBJ := $(B)/t/unit/main.o $(UNIT_SRC:%.c=$(B)/%.o)
UNIT_NAMES := $(patsubst test_%.c,%,$(notdir $(UNIT_SRC)))
# The headers that most suites include, and the system headers that most files of src
# include, are compiled once each. ccache keeps no such objects.
UNIT_PCH := $(if $(CCACHE),,$(B)/t/unit/headers.h.gch)
SYSTEM_PCH := $(if $(CCACHE),,$(B)/src/base/system.h.gch)
BENCH := $(patsubst %.c,$(B)/%,$(sort $(wildcard t/bench/*.c)))
# mlgen itself in virtual time and on a made-up machine: t/golden/sim.h.
GOLDEN_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard t/golden/*.c)))
GOLDEN_WRAPS = $(shell awk -F', ' '/^\tX/ { print "-Wl,--wrap=" $$2 }' \
	t/golden/wraps.h)
# What the tests meet mlgen with; faultfs only where libfuse is.
FUSE_LIBS := $(shell pkg-config --libs fuse3 2>/dev/null)
TOOLS := $(filter-out $(if $(FUSE_LIBS),,%/faultfs), \
	$(patsubst %.c,$(B)/%,$(sort $(wildcard t/tools/*.c))))
# What shells complete: the templates with the tables of the program in them.
COMPLETIONS := $(addprefix $(B)/completion/,mlgen.bash _mlgen mltrace.bash _mltrace)
OBJ = $(PROGRAM_OBJ) $(TRACER_OBJ) $(LIBRARY_OBJ) $(UNIT_OBJ) $(B)/t/lint/manlists.o \
	$(BENCH:%=%.o) $(TOOLS:%=%.o) $(GOLDEN_OBJ)

.PHONY: all check check-all check-slow check-hosts golden mutate fuzz lint lint-all bench demo man \
	completion install uninstall dist clean distclean engines-changed always

all: $(PROGRAM) $(TRACER) $(PLUGINS)

$(PROGRAM): $(PROGRAM_OBJ) $(LIBRARY) | $(JOBS_LINK)
$(TRACER): $(TRACER_OBJ) $(LIBRARY) | $(JOBS_LINK)
$(B)/unit-tests: $(UNIT_OBJ) $(LIBRARY)
$(B)/manlists: $(B)/t/lint/manlists.o $(LIBRARY)
$(B)/golden/mlgen: $(PROGRAM_OBJ) $(GOLDEN_OBJ) $(LIBRARY)
$(B)/golden/mltrace: $(TRACER_OBJ) $(GOLDEN_OBJ) $(LIBRARY)
$(BENCH): %: %.o $(LIBRARY)
$(TOOLS): %: %.o
$(B)/t/tools/maketrace: $(LIBRARY)
$(B)/t/tools/mergetable: $(LIBRARY)
$(B)/t/tools/trace_text: $(LIBRARY)
$(B)/t/tools/record_bpf: $(LIBRARY)
$(B)/t/tools/striptrace: $(LIBRARY)
$(B)/t/tools/faultfs: private LIBS += $(FUSE_LIBS)
$(B)/unit-tests: private LIBS += $(CHECK_LIBS) -Wl,--wrap=_mark_point
# Only mltrace records by BPF.
$(PROGRAM) $(B)/golden/mlgen: private LIBS := $(filter-out -lbpf -lelf,$(LIBS))
$(B)/golden/mlgen $(B)/golden/mltrace: private LIBS += $(GOLDEN_WRAPS)
$(UNIT_OBJ) $(UNIT_PCH): private COMPILE += $(NOT_OPTIMISED) $(CHECK_CFLAGS) -It/unit
$(UNIT_OBJ): private COMPILE += $(UNIT_PCH:%.gch=-include %)
$(UNIT_OBJ): $(UNIT_PCH)
SYSTEM_OBJ := $(filter $(B)/src/%,$(LIBRARY_OBJ))
$(SYSTEM_OBJ): private COMPILE += $(SYSTEM_PCH:%.gch=-include %)
$(SYSTEM_OBJ): $(SYSTEM_PCH)
$(TOOLS:%=%.o) $(GOLDEN_OBJ): private COMPILE += $(NOT_OPTIMISED)
$(UNIT_OBJ): | $(B)/unit-suites.h

$(PROGRAM) $(TRACER) $(B)/unit-tests $(B)/manlists $(B)/golden/mlgen $(B)/golden/mltrace $(BENCH) $(TOOLS):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LINK) -o $@ $^ $(LIBS) -lm

$(UNIT_PCH) $(SYSTEM_PCH): $(B)/%.gch: % $(B)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include "$(abspath $<)"' >$(@:.gch=)
	$(Q)$(CC) $(COMPILE) -x c-header -o $@ $(@:.gch=)

$(JOBS_LINK):
	$(Q)ln -s '$(CURDIR)/jobs' $@

# Made anew, so that an object whose source is gone leaves it.
$(LIBRARY): $(LIBRARY_OBJ) $(B)/objects
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(LIBRARY_OBJ)

$(B)/engines/%.o: engines/%.c $(B)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(COMPILE_ENGINE) -MMD -MP -c -o $@ $<

$(B)/%.o: %.c $(B)/flags | $(P)config.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(COMPILE) -MMD -MP -c -o $@ $<

$(B)/mlgen-mpi-%.so: $(PLUGIN_SRC) src/hosts/mpi_plugin.h $(B)/flags $(P)config.mk
	$(call say,MPI,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(LIB_CFLAGS),$(COMPILE)) $(MPI_CFLAGS_$*) -fPIC \
		-shared $(LDFLAGS) -o $@ $< $(MPI_LIBS_$*)

# With its line numbers: they are the descriptions of types (BTF), too.
$(B)/%.bpf.o: %.bpf.c $(B)/flags
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF_CC) $(BPF_CFLAGS) -Isrc $(LIB_CFLAGS) -Wall -Wextra \
		-Wno-unused-parameter $(WERROR) -MMD -MP -c -o $@ $<

# Which has the other one in it, as bytes: the assembler looks for it below O.
$(B)/src/tracing/capture/bpf/bpf_object.o: private COMPILE += -Wa,-I,$(O)
$(B)/src/tracing/capture/bpf/bpf_object.o: $(B)/src/tracing/capture/bpf/capture.bpf.o

# And what each page has in it.
$(B)/src/report/html/html_parts.o: $(wildcard src/report/html/*.css \
	src/report/html/*.js) $(CHARTJS)

-include $(OBJ:.o=.d) $(KERNEL_SRC:%.c=$(B)/%.d)

# Files that change only when what they say does: other flags or another list
# of sources rebuild, the same ones do not.
define update
$(shell mkdir -p $(@D))$(file >$@.new,$(1))@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef

$(B)/flags: always
	$(call update,$(CC) $(COMPILE) $(LINK) $(LIBS) $(BPF_CC) $(BPF_CFLAGS))

$(B)/objects: always
	$(call update,$(LIBRARY_OBJ))

# The commit that is built, of a checkout of this very folder; of an archive none.
$(B)/commit.h: always
	$(call update,#define MLGEN_COMMIT "$(shell [ ! -e .git ] || git describe \
		--always --dirty --abbrev=12 --exclude='*' 2>/dev/null)")

$(B)/src/main.o $(TRACER_OBJ): $(B)/commit.h

$(B)/unit-suites.h: always
	$(call update,#define UNIT_SUITES(X) $(foreach name,$(UNIT_NAMES),X($(name))))

# ---- tests ------------------------------------------------------------------

# Under AddressSanitizer, too, an allocation that cannot be had is a NULL that mlgen meets.
RUN = SANITIZE='$(SANITIZERS)' BUILT='$(abspath $(O))' \
	ASAN_OPTIONS=allocator_may_return_null=1:$$ASAN_OPTIONS \
	CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-30} \
	t/func/run $(if $(RETRY),-r) $(if $(TIMES),-T) $(if $(SANITIZERS),-t 600)

# RETRY=y runs what failed once more, by itself; TIMES=y prints what each test used
# (t/func/run -r and -T). CHECKS names the scripts and SUITES the unit suites, as a pattern of
# grep -E.
CHECKS ?= $(sort $(wildcard t/func/[0-9]*.sh))
# These scripts compare mlgen with other programs, which they need and wait for.
PEERS ?= $(sort $(wildcard t/func/peers/[0-9]*.sh))
SUITES ?= .*

# The scripts run without libcheck, too.
UNIT_TESTS = $(if $(filter yes,$(HAVE_CHECK)),$(B)/unit-tests)
CHECKED := $(PROGRAM) $(TRACER) $(B)/golden/mlgen $(B)/golden/mltrace $(TOOLS)

check: $(CHECKED) $(UNIT_TESTS)
	$(Q)HAVE_CHECK=$(HAVE_CHECK) t/func/needs check
	$(Q)$(RUN) $(UNIT_TESTS:%=-u % -s '$(SUITES)') $(CHECKS)

check-all: $(CHECKED) $(UNIT_TESTS) $(COMPLETIONS)
	$(Q)HAVE_CHECK=$(HAVE_CHECK) t/func/needs all
	$(Q)$(RUN) $(UNIT_TESTS:%=-u % -s '$(SUITES)') $(CHECKS) $(PEERS)

# Every wording and figure that golden files hold, as it is now.
golden: $(B)/golden/mlgen $(B)/golden/mltrace $(B)/t/tools/maketrace $(B)/t/tools/mergetable
	$(Q)t/golden/run --update

# What no test notices of changes at places drawn by chance; an hour or so.
mutate: $(B)/unit-tests $(B)/golden/mlgen
	$(Q)t/mutate/run

check-slow: $(PROGRAM) $(TRACER) $(TOOLS)
	$(Q)$(RUN) -t 1200 $(sort $(wildcard t/func/slow/*.sh))

# Of several hosts, which are namespaces: root makes them.
check-hosts: all $(TOOLS)
	$(Q)$(RUN) -j 4 -t 600 $(sort $(wildcard t/hosts/[0-9]*.sh))

# Seconds for each target.
FUZZ_SECONDS ?= 20

fuzz: $(PROGRAM)
	$(Q)t/fuzz/run $(FUZZ_SECONDS)

# What has changed since BASE, and what includes it; lint-all looks at everything.
lint lint-all: $(PROGRAM) $(B)/manlists $(B)/unit-suites.h $(B)/commit.h
	$(Q)CC='$(CC)' COMPILE='$(COMPILE)' $(if $(filter lint-all,$@),LINT_ALL=y) t/lint/run

bench: $(PROGRAM) $(BENCH)
	$(Q)status=0; for script in $(sort $(wildcard t/bench/*.sh)); do \
		echo "  BENCH   $$script"; \
		MLGEN='$(abspath $(PROGRAM))' BENCH='$(abspath $(B))/t/bench' \
			$$script || status=1; \
	done; exit $$status

demo: $(PROGRAM)
	$(Q)$(abspath $(PROGRAM)) quickstart.job --html=mlgen-demo.html
	$(Q)echo "mlgen-demo.html has it as a page: open it in a browser"

# The lists of options and metrics in man/, from the tables in the program.
man: $(B)/manlists
	$(Q)t/lint/man --update

# ---- install ----------------------------------------------------------------

INSTALL ?= install
JOBS := $(sort $(wildcard jobs/*.job))
EXAMPLES := $(sort $(wildcard examples/*.* examples/*/*.*))
GUIDES := README.md NEWS $(sort $(wildcard doc/*.md))
HEADERS := $(sort $(wildcard include/mlgen/*.h))
PAGES := $(sort $(wildcard man/*.[1-8]))
page_dir = $(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(1)))

# Where shells look for completions.
bash_dir = $(DESTDIR)$(datadir)/bash-completion/completions
ZSH_DIR = $(datadir)/zsh/site-functions
zsh_dir = $(DESTDIR)$(ZSH_DIR)

completion: $(COMPLETIONS)

$(COMPLETIONS): $(B)/%: %.in $(B)/manlists $(P)config.mk
	$(call say,TABLES,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(B)/manlists --$(if $(findstring mltrace,$@),mltrace,completion) >$@.options
	$(Q)sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' \
		-e "s|@ENGINES@|$$($(B)/manlists --engines)|" \
		-e 's|@JOBS_DIR@|$(datadir)/mlgen/jobs|' $< >$@.new
	$(Q)mv $@.new $@

install: $(PROGRAM) $(TRACER) $(PLUGINS) $(COMPLETIONS)
	$(call say,INSTALL,$(DESTDIR)$(prefix))
	$(Q)$(INSTALL) -D -m 644 $(B)/completion/mlgen.bash $(bash_dir)/mlgen
	$(Q)$(INSTALL) -D -m 644 $(B)/completion/_mlgen $(zsh_dir)/_mlgen
	$(Q)$(INSTALL) -D -m 644 $(B)/completion/mltrace.bash $(bash_dir)/mltrace
	$(Q)$(INSTALL) -D -m 644 $(B)/completion/_mltrace $(zsh_dir)/_mltrace
	$(Q)$(INSTALL) -D -m 755 $(PROGRAM) $(DESTDIR)$(bindir)/mlgen
	$(Q)$(INSTALL) -D -m 755 $(TRACER) $(DESTDIR)$(bindir)/mltrace
	$(Q)$(foreach f,$(PLUGINS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(libdir)/mlgen/$(notdir $(f)) &&) :
	$(Q)$(foreach f,$(JOBS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(datadir)/mlgen/$(f) &&) :
	$(Q)$(foreach f,$(EXAMPLES) $(GUIDES),$(INSTALL) -D \
		-m $(if $(filter %.sh %.py,$(f)),755,644) $(f) \
		$(DESTDIR)$(docdir)/$(f) &&) :
	$(Q)$(foreach f,$(HEADERS),$(INSTALL) -D -m 644 $(f) \
		$(DESTDIR)$(includedir)/mlgen/$(notdir $(f)) &&) :
	$(Q)$(foreach f,$(PAGES),$(INSTALL) -D -m 644 $(f) \
		$(call page_dir,$(f))/$(notdir $(f)) &&) :

uninstall:
	$(call say,REMOVE,$(DESTDIR)$(prefix))
	$(Q)rm -f $(DESTDIR)$(bindir)/mlgen $(DESTDIR)$(bindir)/mltrace $(bash_dir)/mlgen \
		$(bash_dir)/mltrace $(zsh_dir)/_mlgen $(zsh_dir)/_mltrace \
		$(DESTDIR)$(libdir)/mlgen/mlgen-mpi-*.so \
		$(JOBS:%=$(DESTDIR)$(datadir)/mlgen/%) \
		$(addprefix $(DESTDIR)$(docdir)/,$(EXAMPLES) $(GUIDES)) \
		$(HEADERS:include/%=$(DESTDIR)$(includedir)/%) \
		$(foreach f,$(PAGES),$(call page_dir,$(f))/$(notdir $(f)))
	$(Q)for dir in $(DESTDIR)$(libdir)/mlgen $(DESTDIR)$(datadir)/mlgen/jobs \
		$(DESTDIR)$(datadir)/mlgen $(DESTDIR)$(includedir)/mlgen \
		$(addprefix $(DESTDIR)$(docdir)/,$(sort \
			$(dir $(wildcard examples/*/*))) examples doc) \
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
	$(Q)rm -rf $(B) $(PROGRAM) $(TRACER)

distclean: clean
	$(Q)rm -f $(P)config.mk $(P)config.h $(P)config.log $(JOBS_LINK)
