// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command_words.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace tenure::tool
{

TEST_CASE("a mistyped command is answered with the one that was meant")
{
    std::vector<std::string> const commands{"run", "status", "doctor", "evict", "demo"};
    CHECK(suggestion_for("stauts", commands) == "status");  // swapped
    CHECK(suggestion_for("statu", commands) == "status");   // missing
    CHECK(suggestion_for("doctoor", commands) == "doctor"); // inserted
    CHECK(suggestion_for("evikt", commands) == "evict");    // wrong
    CHECK(suggestion_for("rn", commands) == "run");
    CHECK(suggestion_for("list", commands).empty());
    CHECK(suggestion_for("x", commands).empty());
    CHECK(suggestion_for("", commands).empty());
    CHECK(suggestion_for("status", {}).empty());
}

} // namespace tenure::tool
