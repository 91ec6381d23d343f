# Eviction policies: one file evict_NAME.c defining mc_evictor_NAME, and its name here, sorted.
KV_EVICTORS = lru
libmooncake_a_SOURCES +=
