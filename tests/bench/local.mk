# Programs that print figures and assert nothing, built and run by `make bench`; one file each, bench_NAME.c.
BENCHES = \
	%D%/bench_flow \
	%D%/bench_kv \
	%D%/bench_loop \
	%D%/bench_transport
EXTRA_PROGRAMS += $(BENCHES)
%C%_bench_transport_SOURCES = %D%/bench_transport.c %D%/raw_streams.c %D%/raw_streams.h
%C%_bench_transport_LDADD = $(MC_TRANSPORT_LIBS)
EXTRA_DIST += %D%/bench.h %D%/bench_run.sh
CLEANFILES += $(BENCHES)

.PHONY: bench
bench: $(BENCHES) mooncake
	@for b in $(BENCHES); do echo "# $$b"; ./$$b || exit 1; done
	@echo "\# bench_run.sh"; MC_SRCDIR=$(abs_top_srcdir) MC_BUILDDIR=$(abs_top_builddir) $(SHELL) $(srcdir)/%D%/bench_run.sh
