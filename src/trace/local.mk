# Trace formats: one file format_NAME.c defining mc_trace_format_NAME; its name here and the file below, both sorted.
TRACE_FORMATS = mooncake
libmooncake_a_SOURCES += \
	%D%/format.h \
	%D%/format_mooncake.c \
	%D%/gen.c %D%/gen.h \
	%D%/gen_spec.c \
	%D%/hot.c %D%/hot.h \
	%D%/input.c %D%/input.h \
	%D%/lru.c %D%/lru.h \
	%D%/mooncake.h \
	%D%/mooncake_parse.c \
	%D%/mooncake_scan.c \
	%D%/number.c %D%/number.h \
	%D%/reader.c %D%/reader.h \
	%D%/reshape.c %D%/reshape.h \
	%D%/stats.c %D%/stats.h \
	%D%/store.c %D%/store.h \
	%D%/turns.c %D%/turns.h \
	%D%/write.c %D%/write.h
nodist_libmooncake_a_SOURCES += %D%/format_registry.c
CLEANFILES += %D%/format_registry.c
%D%/format_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) trace/format.h 'struct mc_trace_format' mc_trace_formats \
		mc_trace_format_ $(TRACE_FORMATS) > $@.tmp && mv -f $@.tmp $@
