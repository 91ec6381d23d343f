# Programs that print figures and assert nothing, built and run by `make bench`; one file each, bench_NAME.c.
BENCHES = \
	%D%/bench_flow \
	%D%/bench_kv \
	%D%/bench_loop
EXTRA_PROGRAMS = $(BENCHES)
EXTRA_DIST += %D%/bench.h %D%/bench_run.sh
CLEANFILES += $(BENCHES)

.PHONY: bench
bench: $(BENCHES) mooncake
	@for b in $(BENCHES); do echo "# $$b"; ./$$b || exit 1; done
	@echo "\# bench_run.sh"; MC_SRCDIR=$(abs_top_srcdir) MC_BUILDDIR=$(abs_top_builddir) $(SHELL) $(srcdir)/%D%/bench_run.sh
