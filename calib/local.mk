profilesdir = $(pkgdatadir)/profiles
dist_profiles_DATA = \
	%D%/profiles/a100-x8-analytic.json \
	%D%/profiles/a100-x8-vidur.json \
	%D%/profiles/a800-x8.json \
	%D%/profiles/a800-x8-analytic.json \
	%D%/profiles/a800-x8-vidur.json \
	%D%/profiles/h100-x8-analytic.json \
	%D%/profiles/h100-x8-vllm.json
EXTRA_DIST += %D%/fit-public.sh %D%/samples/a800-x8-fast25-fig14.csv

# mooncake-calib. libmccalib.a: all but main and the commands, for the tests; it never holds GSL.
noinst_LIBRARIES += libmccalib.a
libmccalib_a_CFLAGS = $(AM_CFLAGS)
libmccalib_a_SOURCES = \
	%D%/anchors.c %D%/anchors.h \
	%D%/args.c %D%/args.h \
	%D%/bare.c %D%/bare.h \
	%D%/bare_tcp.c \
	%D%/bareserve.c %D%/bareserve.h \
	%D%/calib.h \
	%D%/child.c %D%/child.h \
	%D%/compute.c %D%/compute.h \
	%D%/copies.c %D%/copies.h \
	%D%/diskfile.c %D%/diskfile.h \
	%D%/diskgrid.c %D%/diskgrid.h \
	%D%/diskload.c %D%/diskload.h \
	%D%/disktable.c %D%/disktable.h \
	%D%/early.c %D%/early.h \
	%D%/gate.c %D%/gate.h \
	%D%/grid.c %D%/grid.h \
	%D%/hostspeed.c %D%/hostspeed.h \
	%D%/inplace.c \
	%D%/measure.c %D%/measure.h \
	%D%/model.c %D%/model.h \
	%D%/net.c %D%/net.h \
	%D%/netcheck.c %D%/netcheck.h \
	%D%/netgrid.c %D%/netgrid.h \
	%D%/netinfo.c %D%/netinfo.h \
	%D%/netload.c %D%/netload.h \
	%D%/netmeasure.c %D%/netmeasure.h \
	%D%/netmemory.c %D%/netmemory.h \
	%D%/netports.c %D%/netports.h \
	%D%/netserve.c %D%/netserve.h \
	%D%/nettable.c %D%/nettable.h \
	%D%/replay.c \
	%D%/ring.c %D%/ring.h \
	%D%/rounds.c \
	%D%/session.c %D%/session.h \
	%D%/table.c
if HAVE_VERBS
libmccalib_a_CFLAGS += $(VERBS_CFLAGS)
libmccalib_a_SOURCES += %D%/bare_verbs.c
else
libmccalib_a_SOURCES += %D%/bare_verbs_absent.c
endif
MC_CALIB_LIBS = libmccalib.a $(MC_TRANSPORT_LIBS) $(MC_KERNEL_LIBS)

CALIB_COMMANDS = \
	%D%/cmd_check.c \
	%D%/cmd_cpu.c \
	%D%/cmd_disk.c \
	%D%/cmd_gpu.c \
	%D%/cmd_host.c \
	%D%/cmd_net.c \
	%D%/cmd_topology.c
bin_PROGRAMS += mooncake-calib
mooncake_calib_SOURCES = $(CALIB_COMMANDS) %D%/main.c
nodist_mooncake_calib_SOURCES = %D%/command_registry.c
mooncake_calib_LDADD = $(MC_CALIB_LIBS)
BUILT_SOURCES += %D%/command_registry.c
CLEANFILES += %D%/command_registry.c
%D%/command_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) calib/calib.h 'struct mc_calib_command' mc_calib_commands \
		mc_calib_command_ $(CALIB_COMMANDS) >$@.tmp && mv -f $@.tmp $@
