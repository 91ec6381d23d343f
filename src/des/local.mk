libmooncake_a_SOURCES += \
	%D%/loop.c %D%/loop.h \
	%D%/stream.c %D%/stream.h
