libmooncake_a_SOURCES += \
	%D%/decode.c %D%/decode.h \
	%D%/kinds.h \
	%D%/prefill.c %D%/prefill.h \
	%D%/segment.h \
	%D%/tbt.c %D%/tbt.h
