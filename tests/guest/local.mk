# RDMA in guests under qemu. `make check-guest` runs all of it, and fetches Debian's kernel once (70 MB); the one guest is part
# of `make check` where a kernel is at hand, two as two hosts take a minute more.
GUEST_TESTS = %D%/hosts.sh %D%/verbs.sh
dist_check_SCRIPTS += $(GUEST_TESTS)
TESTS += %D%/verbs.sh
EXTRA_DIST += %D%/checks.sh %D%/init %D%/kernel.sh %D%/perf.sh %D%/perf_guest.sh %D%/run.sh
# Run in the guest, by checks.sh.
if HAVE_VERBS
check_PROGRAMS += %D%/test_verbs_guest
endif
%C%_test_verbs_guest_SOURCES = \
	%D%/batch.c \
	%D%/bench.c \
	%D%/faults.c \
	%D%/guest.h \
	%D%/hosts.c \
	%D%/peer.c \
	%D%/store.c \
	%D%/test_verbs_guest.c
%C%_test_verbs_guest_LDADD = $(MC_TRANSPORT_LIBS)
# The same once more, watched by the address sanitizer, with what it needs of the library: made for `make check-guest`, which
# fetches a kernel where there is none.
EXTRA_PROGRAMS += %D%/test_verbs_guest_asan
CLEANFILES += %D%/test_verbs_guest_asan
%C%_test_verbs_guest_asan_CFLAGS = $(MC_CFLAGS) $(JANSSON_CFLAGS) $(NETTLE_CFLAGS) $(VERBS_CFLAGS) -pthread -O1 -fsanitize=address
%C%_test_verbs_guest_asan_LDFLAGS = -fsanitize=address
%C%_test_verbs_guest_asan_SOURCES = $(%C%_test_verbs_guest_SOURCES) $(libmctransport_a_SOURCES)
nodist_%C%_test_verbs_guest_asan_SOURCES = $(nodist_libmctransport_a_SOURCES)
%C%_test_verbs_guest_asan_LDADD = libmooncake.a $(JANSSON_LIBS) $(NETTLE_LIBS) $(MC_VERBS_LIBS) -lpthread
if HAVE_VERBS
check-guest: guest-kernel %D%/test_verbs_guest_asan
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS=%D%/test_verbs_guest TESTS='$(GUEST_TESTS)'
else
check-guest:
	@echo 'make check-guest: built without libibverbs'
endif
guest-kernel:
	$(SHELL) $(top_srcdir)/tests/guest/kernel.sh tests/guest/kernel fetch
clean-local:
	-rm -rf tests/guest/kernel
.PHONY: check-guest guest-kernel
