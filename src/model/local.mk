libmooncake_a_SOURCES +=
