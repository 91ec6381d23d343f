# An eviction policy: one file evict_NAME.c defining mc_evictor_NAME, and its line here, sorted.
KV_EVICTORS = \
	%D%/evict_2q.c \
	%D%/evict_belady.c \
	%D%/evict_fifo.c \
	%D%/evict_length_aware.c \
	%D%/evict_lfu.c \
	%D%/evict_lru.c \
	%D%/evict_s3fifo.c \
	%D%/evict_sieve.c
libmooncake_a_SOURCES += $(KV_EVICTORS) \
	%D%/evict.c %D%/evict.h \
	%D%/future.c %D%/future.h \
	%D%/ghost.c %D%/ghost.h \
	%D%/heat.c %D%/heat.h \
	%D%/mirror.c %D%/mirror.h \
	%D%/order.c %D%/order.h \
	%D%/pool.c %D%/pool.h \
	%D%/pool_check.c %D%/pool_state.h \
	%D%/pool_take.c \
	%D%/replay.c %D%/replay.h \
	%D%/run.h \
	%D%/tree.c %D%/tree.h
nodist_libmooncake_a_SOURCES += %D%/evict_registry.c
BUILT_SOURCES += %D%/evict_registry.c
CLEANFILES += %D%/evict_registry.c
%D%/evict_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	$(REGISTRY) kv/evict.h 'struct mc_evictor' mc_evictors mc_evictor_ $(KV_EVICTORS) >$@.tmp && mv $@.tmp $@
