# Transports and the transfer engine: what programs link that move real bytes ($(MC_TRANSPORT_LIBS)). The simulator doesn't.
noinst_LIBRARIES += libmctransport.a
libmctransport_a_CFLAGS = $(MC_CFLAGS) $(MC_SAN) $(JANSSON_CFLAGS) $(NETTLE_CFLAGS) -pthread
libmctransport_a_SOURCES = \
	%D%/auth.c %D%/auth.h \
	%D%/batch.c \
	%D%/control.c \
	%D%/dispatch.c \
	%D%/engine.c %D%/engine.h \
	%D%/jobs.c \
	%D%/listener.c %D%/listener.h \
	%D%/memory.c %D%/memory.h \
	%D%/peer.c \
	%D%/pool.c \
	%D%/segment.c %D%/segment.h \
	%D%/sock.c %D%/sock.h \
	%D%/state.h \
	%D%/topology.c %D%/topology.h \
	%D%/transport.h \
	%D%/wire.h
MC_TRANSPORT_LIBS = libmctransport.a libmooncake.a $(JANSSON_LIBS) $(NETTLE_LIBS) -lpthread
