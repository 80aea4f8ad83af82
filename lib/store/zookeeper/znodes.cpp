// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "znodes.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace tenure::zookeeper
{

namespace
{

/// the child of a key that does not end with digits
constexpr std::string_view plain_child = "lock";

constexpr std::string_view ttl_field = "ttl=";

/// generations of a user; docs/zookeeper-protocol.md promises their number and the hash
constexpr std::uint64_t generations = 4096;

/** FNV-1a of 64 bits: other programs have to come to the same. */
[[nodiscard]] std::uint64_t hash(std::string_view text) noexcept
{
    std::uint64_t value = 0xcbf29ce484222325U;
    for (char const c : text)
        value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return value;
}

[[nodiscard]] bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

[[nodiscard]] std::string percent(char c)
{
    constexpr char digits[] = "0123456789ABCDEF";
    auto const byte = static_cast<unsigned char>(c);
    return {'%', digits[byte >> 4U], digits[byte & 15U]};
}

/** A part of a key as a name that ZooKeeper takes: all but printable ASCII without '/' and '%' stands as `%XX`. */
[[nodiscard]] std::string escaped(std::string_view text)
{
    std::string name;
    name.reserve(text.size());
    for (char const c : text)
        if (c > ' ' && c < '\x7f' && c != '/' && c != '%')
            name.push_back(c);
        else
            name += percent(c);
    // no key begins with a '%' that no digits follow
    if (name.empty())
        return "%";
    // "." and ".." are no names, and "zookeeper" is the server's own
    if (name == "." || name == ".." || name == "zookeeper")
        name = percent(name.front()) + name.substr(1);
    return name;
}

} // namespace

std::string generation_path(std::string const& chroot, std::string_view user, std::string_view key)
{
    auto path = chroot + "/%g";
    if (!user.empty())
        path += ":" + escaped(user);
    return path + "/" + std::to_string(hash(key) % generations);
}

RangeNodes::RangeNodes(std::string chroot, std::string user, KeyRange range)
    : chroot_(std::move(chroot))
    , user_(std::move(user))
    , range_(std::move(range))
{
    auto cut = range_.prefix.size();
    while (cut > 0 && is_digit(range_.prefix[cut - 1]))
        --cut;
    parent_ = chroot_ + "/" + escaped(std::string_view(range_.prefix).substr(0, cut));
    digits_ = range_.prefix.substr(cut);
}

std::string RangeNodes::name(std::uint32_t index) const
{
    if (range_.numbered)
        return digits_ + std::to_string(range_.first + index);
    return digits_.empty() ? std::string(plain_child) : digits_;
}

std::optional<std::uint32_t> RangeNodes::index_of(std::string_view name) const
{
    if (!range_.numbered)
        return name == this->name(0) ? std::optional<std::uint32_t>(0) : std::nullopt;
    if (!name.starts_with(digits_))
        return std::nullopt;
    auto const number = name.substr(digits_.size());
    std::uint32_t value = 0;
    auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    bool const canonical = number == "0" || (!number.empty() && number.front() != '0');
    if (error != std::errc{} || end != number.data() + number.size() || !canonical || value < range_.first ||
        value - range_.first >= range_.count)
        return std::nullopt;
    return value - range_.first;
}

std::string encode(std::string_view owner, std::optional<std::chrono::milliseconds> ttl)
{
    std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> digits;
    std::string data;
    data.reserve(owner.size() + ttl_field.size() + digits.size() + 2);
    data.append(owner).push_back('\n');
    if (ttl) {
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), ttl->count()).ptr;
        data.append(ttl_field).append(digits.data(), end).push_back('\n');
    }
    return data;
}

NodeValue decode(std::string_view data)
{
    auto const end = data.find('\n');
    NodeValue value{std::string(data.substr(0, end)), std::nullopt};
    if (end == std::string_view::npos)
        return value;
    auto line = data.substr(end + 1);
    line = line.substr(0, line.find('\n'));
    if (!line.starts_with(ttl_field))
        return value;
    line.remove_prefix(ttl_field.size());
    std::uint32_t milliseconds = 0;
    auto const [rest, error] = std::from_chars(line.data(), line.data() + line.size(), milliseconds);
    if (error == std::errc{} && rest == line.data() + line.size() && milliseconds > 0)
        value.ttl = std::chrono::milliseconds(milliseconds);
    return value;
}

} // namespace tenure::zookeeper
