// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "strictness.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace tenure::simulation
{

namespace
{

/** Removes `word` from the front of the text; false: it is not there. */
bool skip(std::string_view& text, std::string_view word)
{
    if (!text.starts_with(word))
        return false;
    text.remove_prefix(word.size());
    return true;
}

std::string_view take_word(std::string_view& text)
{
    auto const end = std::ranges::find_if(text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    auto const word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    return word;
}

bool skip_key(std::string_view& text)
{
    return skip(text, "KEYS[") && !take_word(text).empty() && skip(text, "]");
}

/** @param call  begins behind the bracket of `redis.call(` */
bool is_good_call(std::string_view call)
{
    if (!skip(call, "'"))
        return false;
    auto const name = take_word(call);
    if (!skip(call, "'") || name == "PUBLISH" || name == "SPUBLISH")
        return false;
    if (name == "TIME")
        return true;
    if (!skip(call, ", ") || !skip_key(call))
        return false;
    bool const all_are_keys = name == "MGET" || name == "EXISTS" || name == "DEL";
    while (all_are_keys && skip(call, ", "))
        if (!skip_key(call))
            return false;
    return true;
}

} // namespace

std::string_view describe(Strictness strictness) noexcept
{
    constexpr std::array<std::string_view, 5> words{
        "", ", refuses scripts in transactions", ", fails scripts in transactions", ", does not publish in scripts",
        ", checks the text of scripts"};
    return words[static_cast<std::size_t>(strictness)];
}

bool passes_check(std::string_view script)
{
    for (std::string_view const begin : {"redis.call(", "redis.pcall("})
        for (auto at = script.find(begin); at != std::string_view::npos; at = script.find(begin, at + 1))
            if (!is_good_call(script.substr(at + begin.size())))
                return false;
    return true;
}

} // namespace tenure::simulation
