libmooncake_a_SOURCES += \
	%D%/coupled.c %D%/coupled.h \
	%D%/coupled_plan.c %D%/coupled_state.h \
	%D%/decode.c %D%/decode.h \
	%D%/kinds.h \
	%D%/prefill.c %D%/prefill.h \
	%D%/queue.c %D%/queue.h \
	%D%/segment.h \
	%D%/tbt.c %D%/tbt.h \
	%D%/vram.c %D%/vram.h
