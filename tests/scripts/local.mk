# Tests of the tree itself, and of the program as a whole. One script, one idea; TAP on stdout.
SCRIPT_TESTS = \
	%D%/determinism.sh \
	%D%/dist.sh \
	%D%/docs.sh \
	%D%/globals.sh \
	%D%/headers.sh \
	%D%/layers.sh \
	%D%/limits.sh \
	%D%/registry.sh \
	%D%/words.sh
dist_check_SCRIPTS += $(SCRIPT_TESTS)
TESTS += $(SCRIPT_TESTS)
EXTRA_DIST += %D%/summary.sh %D%/tap.sh

# What determinism.sh compiles anew.
check_DATA += %D%/sources.txt
%D%/sources.txt: Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && for f in $(libmooncake_a_SOURCES) $(nodist_libmooncake_a_SOURCES) \
		$(mooncake_SOURCES) $(nodist_mooncake_SOURCES); do echo $$f; done > $@-t && mv $@-t $@
CLEANFILES += %D%/sources.txt
