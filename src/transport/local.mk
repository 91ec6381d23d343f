# Transports and the transfer engine: what programs link that move real bytes ($(MC_TRANSPORT_LIBS)). The simulator doesn't.
noinst_LIBRARIES += libmctransport.a
libmctransport_a_CFLAGS = $(MC_CFLAGS) $(MC_SAN) $(JANSSON_CFLAGS) $(NETTLE_CFLAGS) -pthread
libmctransport_a_SOURCES = \
	%D%/auth.c %D%/auth.h \
	%D%/batch.c \
	%D%/control.c \
	%D%/discover.c %D%/discover.h \
	%D%/dispatch.c \
	%D%/engine.c %D%/engine.h \
	%D%/find.c \
	%D%/jobs.c \
	%D%/listener.c %D%/listener.h \
	%D%/memory.c %D%/memory.h \
	%D%/peer.c \
	%D%/pool.c \
	%D%/segment.c %D%/segment.h \
	%D%/shm.c \
	%D%/shm_copy.c \
	%D%/shm_endpoint.c \
	%D%/shm_guest.c \
	%D%/shm_state.h \
	%D%/shm_wire.c \
	%D%/sock.c %D%/sock.h \
	%D%/state.h \
	%D%/tcp.c \
	%D%/tcp_client.c \
	%D%/tcp_loop.c \
	%D%/tcp_serve.c \
	%D%/tcp_state.h \
	%D%/tcp_stream.c \
	%D%/topology.c %D%/topology.h \
	%D%/transport.h \
	%D%/wire.h
# The order of names; one file TRANSPORT.c defines mc_transport_TRANSPORT.
TRANSPORTS = shm tcp verbs
nodist_libmctransport_a_SOURCES = %D%/transport_registry.c
CLEANFILES += %D%/transport_registry.c
%D%/transport_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) transport/transport.h 'struct mc_transport' mc_transports mc_transport_ \
		$(TRANSPORTS) > $@.tmp && mv -f $@.tmp $@
if HAVE_VERBS
libmctransport_a_CFLAGS += $(VERBS_CFLAGS)
libmctransport_a_SOURCES += \
	%D%/verbs.c \
	%D%/verbs_device.c \
	%D%/verbs_endpoint.c \
	%D%/verbs_guest.c \
	%D%/verbs_memory.c \
	%D%/verbs_port.h \
	%D%/verbs_post.c \
	%D%/verbs_qp.c
MC_VERBS_LIBS = $(VERBS_LIBS) -ldl
else
libmctransport_a_SOURCES += %D%/verbs_absent.c
MC_VERBS_LIBS =
endif
MC_TRANSPORT_LIBS = libmctransport.a libmooncake.a $(JANSSON_LIBS) $(NETTLE_LIBS) $(MC_VERBS_LIBS) -lpthread
