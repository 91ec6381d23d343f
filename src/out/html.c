#include "out/html.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

static const char style[] =
    "body{margin:0 auto;max-width:1240px;padding:16px 24px 60px;background:#fff;color:#1b1f24;"
    "font:14px/1.45 system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif}\n"
    "h1{font-size:24px;margin:8px 0 4px}\n"
    "h2{font-size:19px;margin:36px 0 8px;padding-top:10px;border-top:1px solid #d0d7de}\n"
    "h3{font-size:15px;margin:18px 0 6px}\n"
    "p{margin:6px 0;max-width:105ch;overflow-wrap:anywhere}\n"
    "a{color:#0b5cad;text-decoration:none}a:hover{text-decoration:underline}\n"
    ".quiet{color:#57606a}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;margin:8px 0;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:3px 8px;border-bottom:1px solid #e6e9ec;text-align:right;vertical-align:top;"
    "white-space:nowrap}\n"
    "th{border-bottom:1px solid #8c959f;font-weight:600;vertical-align:bottom;white-space:normal}\n"
    ".t{text-align:left}td.t{white-space:normal;overflow-wrap:anywhere;min-width:9ch}\n"
    "td.w{min-width:22ch}td.p{min-width:17ch}th.g{text-align:center}td.k{text-align:left}.small{display:"
    "block;font-size:12px;color:#57606a}\n"
    "tbody tr:hover{background:#f6f8fa}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(350px,1fr));gap:14px 18px}\n"
    "figure{margin:0;min-width:0;max-width:480px}\n"
    "figcaption{font-weight:600;margin:4px 0 0}\n"
    "svg{display:block;width:100%;height:auto;font:11px system-ui,'Segoe UI','DejaVu Sans',Helvetica,"
    "Arial,sans-serif}\n"
    ".key{list-style:none;display:flex;flex-wrap:wrap;gap:0 14px;margin:2px 0 0 52px;padding:0;"
    "font-size:12px}\n"
    ".key svg{display:inline;width:20px;height:10px;margin-right:5px;vertical-align:-1px}\n"
    "details{margin:8px 0}summary{cursor:pointer;color:#0b5cad}\n"
    ".frame{fill:#fff;stroke:#8c959f}.grid{fill:none;stroke:#eaedf0}text{fill:#40474f}\n"
    ".rule{fill:none;stroke:#57606a;stroke-width:1}.near{fill:none;stroke:#afb8c1;stroke-dasharray:4 3}\n"
    ".line{fill:none;stroke-width:1.6}.dots{fill:none;stroke-width:3;stroke-linecap:round}.big{stroke-width:"
    "5}\n"
    ".s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#b5478f}.s4{stroke:#8a6d00}"
    ".s5{stroke:#4ba6de}.s6{stroke:#8c959f}.s7{stroke:#c1121f}\n"
    ".f0{fill:#0072b2}.f6{fill:#8c959f}.f7{fill:#c1121f}\n"
    "@media(max-width:1000px){body{padding:8px 12px}table{font-size:12px}th,td{padding:3px 5px}}\n"
    "@media print{body{max-width:none}details{display:block}h2{break-after:avoid}"
    "figure{break-inside:avoid}}\n";

void mc_html_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
	      out);
	mc_html_element(out, "title", "%s", title);
	fprintf(out, "\n<style>\n%s</style>\n</head>\n<body>\n", style);
	mc_html_element(out, "h1", "%s", title);
	fputc('\n', out);
}

void mc_html_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
}

/* Bytes of the UTF-8 character at s; 0: it is none, or an invisible one. */
static size_t character(const unsigned char *s)
{
	size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : 4;

	if (n == 1)
		return (*s >= ' ' && *s != 0x7f) || *s == '\n' || *s == '\t';
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* C1 controls, overlong forms, surrogates, beyond U+10FFFF, marks that turn the direction of text */
	if ((*s == 0xc2 && s[1] < 0xa0) || (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] >= 0x90) ||
	    (*s == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
			    (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9))))
		return 0;
	return n;
}

void mc_html_text(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = character(s);

		switch (*s) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			if (n)
				fwrite(s, 1, n, out);
			else
				fputs("&#xFFFD;", out);
		}
		s += n ? n : 1;
	}
}

static void text_of(FILE *out, const char *fmt, va_list args)
{
	struct mc_str text = {0};

	mc_str_vprintf(&text, fmt, args);
	mc_html_text(out, text.at);
	mc_str_fini(&text);
}

void mc_html_printf(FILE *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_of(out, fmt, args);
	va_end(args);
}

static void close_tag(FILE *out, const char *tag)
{
	fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void mc_html_element(FILE *out, const char *tag, const char *fmt, ...)
{
	va_list args;

	fprintf(out, "<%s>", tag);
	va_start(args, fmt);
	text_of(out, fmt, args);
	va_end(args);
	close_tag(out, tag);
}

void mc_html_number(FILE *out, const char *fmt, ...)
{
	va_list args;

	fputs("<td>", out);
	va_start(args, fmt);
	text_of(out, fmt, args);
	va_end(args);
	fputs("</td>", out);
}

void mc_html_cell(FILE *out, const char *fmt, ...)
{
	va_list args;

	fputs("<td class=\"t\">", out);
	va_start(args, fmt);
	text_of(out, fmt, args);
	va_end(args);
	fputs("</td>", out);
}

void mc_html_table_begin(FILE *out, const char *columns)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
	for (const char *s = columns; *s;) {
		size_t n = strcspn(s, "|");
		bool text = *s == '<';

		mc_html_element(out, text ? "th class=\"t\"" : "th", "%.*s", (int)n - text, s + text);
		s += n + (s[n] == '|');
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

void mc_html_table_head(FILE *out, const char *head)
{
	fprintf(out, "<div class=\"scroll\"><table>\n<thead>%s</thead>\n<tbody>\n", head);
}

void mc_html_table_end(FILE *out)
{
	fputs("</tbody>\n</table></div>\n", out);
}

char *mc_html_percent(double share, char text[16])
{
	snprintf(text, 16, share < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
	return text;
}
