// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Rules for keys, and their names in a range.
#include <tenure/key_range.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace tenure
{

namespace
{

constexpr std::size_t longest_key = 1024;
constexpr std::uint32_t largest_pool = 1U << 20U;

/** The part of a key that is shown in an error: what is wrong with it may be its bytes. */
std::string printable(std::string const& key)
{
    std::string shown;
    for (char const c : key.substr(0, 64))
        shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return key.size() > 64 ? shown + "..." : shown;
}

bool has_unclean_hash_tag(std::string const& key)
{
    auto const open = key.find('{');
    auto const close = key.find('}');
    if (open == std::string::npos && close == std::string::npos)
        return false;
    bool const one_pair = std::ranges::count(key, '{') == 1 && std::ranges::count(key, '}') == 1;
    return !one_pair || close < open + 2;
}

} // namespace

std::string KeyRange::key(std::uint32_t index) const
{
    std::string key;
    assign_key(index, key);
    return key;
}

void KeyRange::assign_key(std::uint32_t index, std::string& to) const
{
    to = prefix;
    if (!numbered)
        return;
    std::array<char, std::numeric_limits<std::uint32_t>::digits10 + 1> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), first + index).ptr;
    to.append(digits.data(), end);
}

std::string KeyRange::describe() const
{
    if (!numbered)
        return prefix;
    if (count == 1)
        return key(0);
    return key(0) + ".." + std::to_string(first + count - 1);
}

void check_key(std::string const& field, std::string const& key)
{
    auto const refuse = [&](std::string const& rule) {
        throw std::invalid_argument(field + " is \"" + printable(key) + "\": " + rule);
    };
    if (key.empty())
        refuse("it must not be empty");
    if (key.size() > longest_key)
        refuse("it has " + std::to_string(key.size()) + " bytes, at most 1024 are allowed");
    if (key.find('\0') != std::string::npos)
        refuse("it must hold no NUL byte");
    if (key.find_first_of("\r\n") != std::string::npos)
        refuse("it must hold no line break");
    if (has_unclean_hash_tag(key))
        refuse("braces are allowed only as one hash tag, \"{...}\" with something inside");
}

KeyRangePtr named_key(std::string key)
{
    check_key("key", key);
    return std::make_shared<KeyRange const>(KeyRange{std::move(key), 0, 1, false});
}

KeyRangePtr shared_key(std::string key)
{
    check_key("key", key);
    return std::make_shared<KeyRange const>(KeyRange{std::move(key), 0, 1, false, true});
}

KeyRangePtr numbered_keys(std::string prefix, std::uint32_t count)
{
    check_key("prefix", prefix);
    if (count == 0 || count > largest_pool)
        throw std::invalid_argument("size is " + std::to_string(count) + ": a pool has 1 to 1048576 slots");
    return std::make_shared<KeyRange const>(KeyRange{std::move(prefix), 0, count, true});
}

} // namespace tenure
