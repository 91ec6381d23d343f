libmooncake_a_SOURCES += \
	%D%/fit.c %D%/fit.h \
	%D%/profile_text.c \
	%D%/samples.c %D%/samples.h
