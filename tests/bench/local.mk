# Not built by default: make tests/bench/bench_NAME.
EXTRA_PROGRAMS = %D%/bench_kv
CLEANFILES += $(EXTRA_PROGRAMS)
