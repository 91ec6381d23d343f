libmooncake_a_SOURCES += \
	%D%/compose.c %D%/compose.h \
	%D%/config.c \
	%D%/cost.c %D%/cost.h \
	%D%/grid.c %D%/grid.h \
	%D%/mixed.h \
	%D%/oprange.c %D%/oprange.h \
	%D%/optable.c %D%/optable.h \
	%D%/pipeline.c %D%/pipeline.h \
	%D%/roofline.c %D%/roofline.h \
	%D%/shape.c %D%/shape.h \
	%D%/shape_json.c \
	%D%/shapes.c
