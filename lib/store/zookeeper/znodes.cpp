// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Names and contents of nodes.
#include "znodes.hpp"

#include "store/key_index.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

namespace
{

/// the child of a key that does not end with digits
constexpr std::string_view plain_child = "lock";

// what precedes the digits of places
constexpr std::string_view lock_mark = "lock-";
constexpr std::string_view read_mark = "__READ__";
constexpr std::string_view write_mark = "__WRIT__";

constexpr std::string_view ttl_field = "ttl=";

/// number of generations per user; docs/integrators/zookeeper-protocol.md guarantees it and the hash
constexpr std::uint64_t generations = 4096;

/** FNV-1a of 64 bits: other programs must compute the same. */
[[nodiscard]] std::uint64_t hash(std::string_view text) noexcept
{
    std::uint64_t value = 0xcbf29ce484222325U;
    for (char const c : text)
        value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return value;
}

[[nodiscard]] std::string percent(char c)
{
    constexpr char digits[] = "0123456789ABCDEF";
    auto const byte = static_cast<unsigned char>(c);
    return {'%', digits[byte >> 4U], digits[byte & 15U]};
}

/** Escapes a part of a key to a valid name: all but printable ASCII without '/' and '%' becomes `%XX`. */
[[nodiscard]] std::string escaped(std::string_view text)
{
    std::string name;
    name.reserve(text.size());
    for (char const c : text)
        if (c > ' ' && c < '\x7f' && c != '/' && c != '%')
            name.push_back(c);
        else
            name += percent(c);
    // no key begins with a '%' without digits after it
    if (name.empty())
        return "%";
    // "." and ".." are invalid names, and "zookeeper" is reserved by the server
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
    auto const cut = range_.shares ? range_.prefix.size() : range_.prefix.find_last_not_of("0123456789") + 1;
    parent_ = chroot_ + "/" + escaped(std::string_view(range_.prefix).substr(0, cut));
    digits_ = range_.prefix.substr(cut);
}

std::string RangeNodes::place(std::string_view owner, backend::Share const& share) const
{
    constexpr std::string_view uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    auto id = escaped(owner.substr(owner.rfind('/') + 1));
    if (id.size() == 32)
        for (auto dash = uuid.find('-'); dash != std::string_view::npos; dash = uuid.find('-', dash + 1))
            id.insert(dash, 1, '-');
    auto path = parent_ + "/_c_" + id + '-';
    if (share == backend::Share{})
        return path.append(lock_mark);
    if (share.capacity == backend::Share::all)
        return path.append(share.weight == 1 ? read_mark : write_mark);
    return path.append(std::to_string(share.weight) + "of" + std::to_string(share.capacity) + '-').append(lock_mark);
}

std::string RangeNodes::name(std::uint32_t index) const
{
    if (range_.numbered)
        return digits_ + std::to_string(range_.first + index);
    return digits_.empty() ? std::string(plain_child) : digits_;
}

std::optional<std::uint32_t> RangeNodes::index_of(std::string_view name) const
{
    return store::index_of(range_, range_.numbered ? digits_ : this->name(0), name);
}

std::optional<PlaceName> read_place(std::string_view name) noexcept
{
    constexpr std::size_t digits = 10;
    auto const begin = name.substr(0, name.size() - std::min(name.size(), digits));
    PlaceName place{name.substr(begin.size()), {}};
    if (place.digits.size() < digits || place.digits.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    place.reads_or_writes = begin.ends_with(read_mark) || begin.ends_with(write_mark);
    if (place.reads_or_writes)
        place.share = {begin.ends_with(read_mark) ? 1 : backend::Share::all, backend::Share::all};
    else if (!begin.ends_with(lock_mark))
        return std::nullopt;
    // `3of10-lock-`
    auto const amount = begin.substr(0, begin.size() - std::min(begin.size(), lock_mark.size() + 1));
    auto const of = amount.rfind("of");
    auto const dash = amount.rfind('-', of);
    if (place.reads_or_writes || of == std::string_view::npos || dash == std::string_view::npos)
        return place;
    auto const weight = number_from<std::uint32_t>(amount.substr(dash + 1, of - dash - 1));
    auto const capacity = number_from<std::uint32_t>(amount.substr(of + 2));
    if (weight && capacity && *weight > 0 && *weight <= *capacity && *capacity <= backend::Share::all)
        place.share = {*weight, *capacity};
    return place;
}

std::optional<std::string> begin_of_keys(std::string_view parent)
{
    if (parent == "%")
        return std::string();
    std::string begin;
    for (std::size_t at = 0; at < parent.size(); ++at) {
        if (parent[at] != '%') {
            begin += parent[at];
            continue;
        }
        auto const byte = number_from<std::uint8_t>(parent.substr(at + 1, 2), 16);
        if (!byte)
            return std::nullopt;
        begin += static_cast<char>(*byte);
        at += 2;
    }
    return escaped(begin) == parent ? std::optional(begin) : std::nullopt;
}

std::optional<std::string> key_of_child(std::string const& begin, std::string_view child)
{
    if (child == plain_child || read_place(child))
        return begin;
    bool const is_number = !child.empty() && child.find_first_not_of("0123456789") == std::string_view::npos;
    return is_number ? std::optional(begin + std::string(child)) : std::nullopt;
}

std::string encode(std::string_view owner, std::optional<std::chrono::milliseconds> ttl)
{
    auto data = std::string(owner) + '\n';
    if (ttl)
        data.append(ttl_field).append(std::to_string(ttl->count())).push_back('\n');
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
    auto const milliseconds = number_from<std::uint32_t>(line.substr(ttl_field.size()));
    if (milliseconds && *milliseconds > 0)
        value.ttl = std::chrono::milliseconds(*milliseconds);
    return value;
}

} // namespace tenure::zookeeper
