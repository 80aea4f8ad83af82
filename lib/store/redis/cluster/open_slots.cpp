// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Open hash slots: what CLUSTER NODES tells of them, and what doctor says.
#include "open_slots.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace tenure::redis
{

namespace
{

constexpr std::size_t most_open_slots_shown = 5;
/// words of a line before the slots
constexpr std::size_t words_before_slots = 8;

std::string_view take_until(std::string_view& text, char end)
{
    auto const size = std::min(text.find(end), text.size());
    auto const part = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return part;
}

/// "[77->-ID]": given away; "[77-<-ID]": taken
std::optional<OpenSlot> read_open_slot(std::string_view word)
{
    if (!word.starts_with('[') || !word.ends_with(']'))
        return std::nullopt;
    word = word.substr(1, word.size() - 2);
    auto const slot = number_from<std::uint32_t>(take_until(word, '-'));
    bool const importing = word.starts_with("<-");
    if (!slot || *slot >= hash_slot_count || (!importing && !word.starts_with(">-")))
        return std::nullopt;
    return OpenSlot{static_cast<HashSlot>(*slot), importing, std::string(word.substr(2, 64))};
}

std::string describe(OpenSlot const& slot)
{
    return std::to_string(slot.slot) + (slot.importing ? " (importing from " : " (migrating to ") + slot.other + ")";
}

} // namespace

std::vector<OpenSlot> read_open_slots(std::string_view nodes)
{
    std::vector<OpenSlot> open;
    std::map<std::string, std::string, std::less<>> addresses;
    while (!nodes.empty()) {
        auto line = take_until(nodes, '\n');
        auto const id = take_until(line, ' ');
        auto address = take_until(line, ' ');
        address = address.substr(0, address.find('@'));
        auto const flags = take_until(line, ' ');
        addresses.emplace(id, address);
        if (flags.find("myself") == std::string_view::npos)
            continue;
        for (std::size_t word = 3; word < words_before_slots; ++word)
            (void)take_until(line, ' ');
        while (!line.empty())
            if (auto slot = read_open_slot(take_until(line, ' ')))
                open.push_back(std::move(*slot));
    }
    for (auto& slot : open) {
        if (auto const known = addresses.find(slot.other); known != addresses.end() && !known->second.empty())
            slot.other = known->second;
        std::ranges::replace_if(slot.other, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    }
    return open;
}

Finding judge_open_slots(std::vector<OpenSlot> const& slots, ServerAddress const& master)
{
    using Severity = Finding::Severity;
    constexpr auto subject = "hash slots";
    auto const where = to_string(master);
    if (slots.empty())
        return {Severity::ok, subject, where + ": none is open", ""};
    std::string named;
    for (std::size_t i = 0; i < std::min(slots.size(), most_open_slots_shown); ++i)
        named += (i == 0 ? "" : ", ") + describe(slots[i]);
    if (slots.size() > most_open_slots_shown)
        named += " and " + std::to_string(slots.size() - most_open_slots_shown) + " more";
    return {
        Severity::error, subject, where + ": open: " + named,
        "new claims on keys of an open hash slot are refused until it is closed: if no resharding is running, close it "
        "by redis-cli --cluster fix " +
            where + ", or by CLUSTER SETSLOT " + std::to_string(slots.front().slot) + " STABLE on " + where};
}

} // namespace tenure::redis
