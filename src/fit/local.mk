# Importers of public tables: one file import/NAME.c defining mc_importer_NAME ('-' in a name is '_' in its file), sorted.
FIT_IMPORTERS = \
	%D%/import/aic_context_attention.c \
	%D%/import/aic_custom_allreduce.c \
	%D%/import/aic_gemm.c \
	%D%/import/aic_generation_attention.c \
	%D%/import/aic_nccl.c \
	%D%/import/llmservingsim_attention.c \
	%D%/import/llmservingsim_dense.c \
	%D%/import/llmservingsim_layers.c \
	%D%/import/llmservingsim_mixed.c \
	%D%/import/llmservingsim_per_sequence.c \
	%D%/import/nvme_uring_read.c \
	%D%/import/perftest.c \
	%D%/import/splitwise.c \
	%D%/import/vidur_attention.c \
	%D%/import/vidur_collective.c \
	%D%/import/vidur_cpu_overhead.c \
	%D%/import/vidur_mlp.c
libmooncake_a_SOURCES += $(FIT_IMPORTERS) \
	%D%/figures.c %D%/figures.h \
	%D%/fit.c %D%/fit.h \
	%D%/import.c %D%/import.h \
	%D%/import_layer.c \
	%D%/import_text.c \
	%D%/netfit.c %D%/netfit.h \
	%D%/netfit_apply.c \
	%D%/opfit.c %D%/opfit.h \
	%D%/opfit_curve.c \
	%D%/opfit_left.c \
	%D%/opfit_text.c \
	%D%/opgap.c %D%/opgap.h \
	%D%/opgap_form.c %D%/opgap_form.h \
	%D%/opgrid.c %D%/opgrid.h \
	%D%/profile_text.c \
	%D%/residuals.c %D%/residuals.h \
	%D%/samples.c %D%/samples.h \
	%D%/suspects.c %D%/suspects.h \
	%D%/table.c %D%/table.h \
	%D%/text.h
nodist_libmooncake_a_SOURCES += %D%/import_registry.c
CLEANFILES += %D%/import_registry.c
%D%/import_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) fit/import.h 'struct mc_importer' mc_importers mc_importer_ $(FIT_IMPORTERS) >$@.tmp && mv $@.tmp $@
