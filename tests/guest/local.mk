# RDMA in a guest under qemu. Part of `make check` where a kernel is at hand; `make guest-kernel` fetches Debian's once (70 MB).
GUEST_TESTS = %D%/verbs.sh
dist_check_SCRIPTS += $(GUEST_TESTS)
TESTS += $(GUEST_TESTS)
EXTRA_DIST += %D%/checks.sh %D%/init %D%/kernel.sh %D%/run.sh
# Run in the guest, by checks.sh.
if HAVE_VERBS
check_PROGRAMS += %D%/test_verbs_guest
endif
%C%_test_verbs_guest_SOURCES = \
	%D%/batch.c \
	%D%/faults.c \
	%D%/guest.h \
	%D%/peer.c \
	%D%/store.c \
	%D%/test_verbs_guest.c
%C%_test_verbs_guest_LDADD = $(MC_TRANSPORT_LIBS)
guest-kernel:
	$(SHELL) $(top_srcdir)/tests/guest/kernel.sh tests/guest/kernel fetch
clean-local:
	-rm -rf tests/guest/kernel
.PHONY: guest-kernel
