TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = CK_TAP_LOG_FILE_NAME=-; CK_VERBOSITY=silent; CK_DEFAULT_TIMEOUT=120; LC_ALL=C; \
	MC_SRCDIR='$(abs_top_srcdir)'; MC_BUILDDIR='$(abs_top_builddir)'; MC_CC='$(CC)'; \
	MOONCAKE_PROFILE_DIR='$(abs_top_srcdir)/calib/profiles'; \
	export CK_TAP_LOG_FILE_NAME CK_VERBOSITY CK_DEFAULT_TIMEOUT LC_ALL MC_SRCDIR MC_BUILDDIR MC_CC MOONCAKE_PROFILE_DIR;
include tests/unit/local.mk
include tests/cli/local.mk
include tests/scripts/local.mk
include tests/bench/local.mk
