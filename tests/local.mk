TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = MC_TAP=1; CK_TAP_LOG_FILE_NAME=-; CK_VERBOSITY=silent; CK_DEFAULT_TIMEOUT=120; LC_ALL=C; \
	MC_SRCDIR='$(abs_top_srcdir)'; MC_BUILDDIR='$(abs_top_builddir)'; MC_CC='$(CC)'; \
	MC_CFLAGS='$(MC_CFLAGS)'; MC_PKG_CFLAGS='$(MC_PKG_CFLAGS)'; MC_PKG_LIBS='$(MC_PKG_LIBS)'; \
	MOONCAKE_PROFILE_DIR='$(abs_top_srcdir)/calib/profiles'; \
	export MC_TAP CK_TAP_LOG_FILE_NAME CK_VERBOSITY CK_DEFAULT_TIMEOUT LC_ALL MC_SRCDIR MC_BUILDDIR MC_CC \
		MC_CFLAGS MC_PKG_CFLAGS MC_PKG_LIBS MOONCAKE_PROFILE_DIR;
EXTRA_DIST += tests/tsan.supp
EXTRA_PROGRAMS =
include tests/unit/local.mk
include tests/transport/local.mk
include tests/kernels/local.mk
include tests/shim/local.mk
include tests/cli/local.mk
include tests/corpus/trace/local.mk
include tests/guest/local.mk
include tests/scripts/local.mk
include tests/bench/local.mk

# One closing line for people and for CI. Not reached when tests failed: `sh bootstrap check` prints it then, too.
MC_SUMMARY = $(SHELL) $(top_srcdir)/tests/scripts/summary.sh
check-local: check-TESTS
	@$(MC_SUMMARY) $(TEST_LOGS:.log=.trs)

# The names of the tests, to choose from: make check TESTS="$(make -s list-tests | grep ^tests/unit)".
list-tests:
	@for t in $(TESTS); do echo $$t; done

list-programs:
	@for p in $(check_PROGRAMS); do echo $$p; done

# What a tarball holds: tests/scripts/dist.sh.
list-dist:
	@for f in $(DISTFILES); do echo "$${f#$(srcdir)/}"; done

coverage:
	@command -v gcovr >/dev/null || { echo "make coverage: gcovr is not installed" >&2; exit 1; }
	@case '$(MC_SAN)' in *--coverage*) ;; *) echo "make coverage: expected ./configure --enable-coverage" >&2; exit 1;; esac
	find . -name '*.gcda' -exec rm -f {} +
	$(MAKE) $(AM_MAKEFLAGS) check
	gcovr --root $(top_srcdir) --filter '$(top_srcdir)/src/' --object-directory . --sort-percentage . > coverage.txt
	@cat coverage.txt
CLEANFILES += coverage.txt
.PHONY: list-dist list-programs list-tests coverage

# Counts of lines, and what nvcc read, are written beside the objects.
mostlyclean-local:
	-find . -name '*.gcda' -exec rm -f {} + -o -name '*.gcno' -exec rm -f {} + -o -name '*.o.d' -exec rm -f {} +
