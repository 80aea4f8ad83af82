// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/paths.hpp"

#include <catch2/catch_message.hpp>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace tenure::test
{

/** A message as docs/users/errors.md writes it: without what differs from run to run. */
[[nodiscard]] inline std::string in_general(std::string text)
{
    text = std::regex_replace(text, std::regex{R"((127\.0\.0\.1|localhost):[0-9]+)"}, "$1:PORT");
    text = std::regex_replace(
        text, std::regex{R"((redis(\+sentinel)?|etcd|zookeeper)://[^ ]*( at [^ ]*)?: (held|wanted): )"},
        "SERVER: KEY: ");
    text = std::regex_replace(text, std::regex{"on port [0-9]+"}, "on port PORT");
    text = std::regex_replace(text, std::regex{R"([0-9]+ ms)"}, "N ms");
    text = std::regex_replace(text, std::regex{"x{60,}"}, "xxx");
    return std::regex_replace(text, std::regex{R"(/tmp/tenure-test-[^/]*)"}, "DIRECTORY");
}

/** Whether docs/users/errors.md shows this message, as the text of a code span. The page has all messages that
 * users see, and no others. TENURE_MESSAGES names a file that collects them all. */
[[nodiscard]] inline bool documented(std::string const& message)
{
    std::ostringstream page;
    page << std::ifstream(source_path("docs/users/errors.md")).rdbuf();
    auto const general = in_general(message);
    if (char const* const collected = std::getenv("TENURE_MESSAGES"))
        std::ofstream(collected, std::ios::app) << general << "\n";
    UNSCOPED_INFO("docs/users/errors.md should have: `" << general << "`");
    return page.str().find("`" + general + "`") != std::string::npos;
}

} // namespace tenure::test
