libmooncake_a_SOURCES += \
	%D%/err.c %D%/err.h \
	%D%/hash.h \
	%D%/time.h \
	%D%/vec.c %D%/vec.h
