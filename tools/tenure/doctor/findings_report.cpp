// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "doctor/findings_report.hpp"

#include "output/style.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>

namespace tenure::tool
{

namespace
{

using Severity = Finding::Severity;

/// longer lines are hard to read
constexpr std::size_t most_columns = 100;
/// behind the severity
constexpr std::size_t indent = 12;
/// the server's text is untrusted
constexpr std::size_t longest_text = 2'000;

struct SeverityLook {
    std::string_view name;
    Style style;
};

SeverityLook look_of(Severity severity) noexcept
{
    switch (severity) {
    case Severity::ok:
        return {"ok", Style::good};
    case Severity::unverified:
        return {"unverified", Style::plain};
    case Severity::warning:
        return {"warning", Style::caution};
    case Severity::error:
        break;
    }
    return {"error", Style::bad};
}

std::size_t count(Findings const& findings, Severity severity)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(findings, [&](Finding const& finding) { return finding.severity == severity; }));
}

std::string counted(std::size_t number, std::string const& what)
{
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

} // namespace

std::string as_text(std::string const& store, Findings const& findings, bool color, std::size_t width)
{
    auto const columns = std::max(width == 0 ? most_columns : std::min(width, most_columns), 2 * indent);
    auto sorted = findings;
    std::ranges::stable_sort(sorted, [](Finding const& a, Finding const& b) { return a.severity > b.severity; });
    auto result = store + "\n";
    for (auto const& finding : sorted) {
        auto const [severity, style] = look_of(finding.severity);
        // the rest of a long line stands below its subject
        auto observed =
            wrapped(printable(finding.subject) + ": " + printable(finding.observed, longest_text), columns - indent);
        result += styled(severity, style, color) + std::string(indent - severity.size(), ' ') + observed.front() + "\n";
        observed.erase(observed.begin());
        result += indented(observed, indent);
        if (!finding.advice.empty())
            result += indented(wrapped(printable(finding.advice, longest_text), columns - indent), indent);
    }
    return result + counted(count(findings, Severity::error), "error") + ", " +
           counted(count(findings, Severity::warning), "warning") + ", " +
           std::to_string(count(findings, Severity::unverified)) + " unverified, " +
           std::to_string(count(findings, Severity::ok)) + " ok\n";
}

std::string as_json(std::string const& store, Findings const& findings)
{
    boost::json::array array;
    for (auto const& finding : findings) {
        boost::json::object object;
        object["severity"] = look_of(finding.severity).name;
        object["subject"] = printable(finding.subject);
        object["observed"] = printable(finding.observed, longest_text);
        if (!finding.advice.empty())
            object["advice"] = printable(finding.advice, longest_text);
        array.push_back(std::move(object));
    }
    boost::json::object object;
    object["store"] = store;
    object["errors"] = count(findings, Severity::error);
    object["warnings"] = count(findings, Severity::warning);
    object["findings"] = std::move(array);
    return boost::json::serialize(object) + "\n";
}

ExitCode exit_code_of(Findings const& findings) noexcept
{
    if (count(findings, Severity::error) != 0)
        return broken;
    return count(findings, Severity::warning) != 0 ? attention : success;
}

} // namespace tenure::tool
