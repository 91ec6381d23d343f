# A sink: one file sink_NAME.c defining mc_sink_NAME, and its line here, sorted.
OUT_SINKS = \
	%D%/sink_csv.c \
	%D%/sink_json.c \
	%D%/sink_text.c
libmooncake_a_SOURCES += $(OUT_SINKS) \
	%D%/capacity.c %D%/capacity.h \
	%D%/compare.c %D%/compare.h \
	%D%/compare_columns.c \
	%D%/explain.c %D%/explain.h \
	%D%/flat.c %D%/flat.h \
	%D%/json.h \
	%D%/report.c %D%/report.h \
	%D%/seeds.c %D%/seeds.h \
	%D%/tables.c %D%/tables.h \
	%D%/textfmt.c %D%/textfmt.h \
	%D%/times.c %D%/times.h
nodist_libmooncake_a_SOURCES += %D%/sink_registry.c
CLEANFILES += %D%/sink_registry.c
%D%/sink_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) out/report.h 'struct mc_sink' mc_sinks mc_sink_ $(OUT_SINKS) >$@.tmp && mv -f $@.tmp $@
