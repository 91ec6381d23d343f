libmooncake_a_SOURCES += \
	%D%/bisect.c %D%/bisect.h \
	%D%/capacity.c %D%/capacity.h
