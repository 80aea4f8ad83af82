// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Families of metrics as text: docs/users/monitoring.md says which format.
#include <tenure/metrics_page.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

namespace tenure
{

namespace
{

/** Labels of a sample, and the one that only its line has. */
struct Line {
    std::string_view suffix = {};
    std::string_view label = {};
    std::string_view value = {};
};

std::string number(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    std::array<char, 32> text{};
    auto const [end, error] = std::to_chars(
        text.data(), text.data() + text.size(), value, std::chars_format::general,
        std::numeric_limits<double>::digits10 + 1);
    return {text.data(), end};
}

/** Appends the text with its line breaks and backslashes escaped, and in labels also quotes. */
void add_escaped(std::string& page, std::string_view text, bool quoted)
{
    for (char const c : text) {
        if (c == '\n') {
            page += "\\n";
            continue;
        }
        if (c == '\\' || (quoted && c == '"'))
            page += '\\';
        page += c;
    }
}

void add_label(std::string& page, std::string_view name, std::string_view value, bool& first)
{
    page += first ? '{' : ',';
    first = false;
    page.append(name).append("=\"");
    add_escaped(page, value, true);
    page += '"';
}

void add_line(
    std::string& page, MetricFamily const& family, MetricFamily::Sample const& sample, Line const& line,
    std::string_view value)
{
    page.append(family.name).append(line.suffix);
    bool first = true;
    for (auto const& label : sample.labels)
        add_label(page, label.name, label.value, first);
    if (!line.label.empty())
        add_label(page, line.label, line.value, first);
    page.append(first ? " " : "} ").append(value).append("\n");
}

void add_histogram(std::string& page, MetricFamily const& family, MetricFamily::Sample const& sample)
{
    auto const count = std::to_string(sample.count);
    add_line(page, family, sample, {.suffix = "_count"}, count);
    add_line(page, family, sample, {.suffix = "_sum"}, number(sample.value));
    auto const bucket = [&](double bound, std::string_view below) {
        auto const text = number(bound);
        add_line(page, family, sample, {"_bucket", "le", text}, below);
    };
    for (auto const& [bound, below] : sample.buckets)
        bucket(bound, std::to_string(below));
    bucket(std::numeric_limits<double>::infinity(), count);
}

} // namespace

std::string metrics_page(std::vector<MetricFamily> const& families)
{
    std::string page;
    for (auto const& family : families) {
        page.append("# HELP ").append(family.name).append(" ");
        add_escaped(page, family.help, false);
        page.append("\n# TYPE ").append(family.name).append(" ").append(to_string(family.type)).append("\n");
        for (auto const& sample : family.samples)
            if (family.type == MetricFamily::Type::histogram)
                add_histogram(page, family, sample);
            else
                add_line(page, family, sample, {}, number(sample.value));
    }
    return page;
}

} // namespace tenure
