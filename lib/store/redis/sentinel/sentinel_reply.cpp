// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for Sentinel replies.
#include "sentinel_reply.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace tenure::redis
{

namespace
{

std::optional<ServerAddress> address_from(std::string_view host, std::string_view port)
{
    auto const number = number_from<std::uint16_t>(port);
    if (!number || *number == 0 || !may_be_host(host))
        return std::nullopt;
    return ServerAddress{std::string(host), *number};
}

/** The text of a field in a map, or in the array that RESP2 sends instead; empty if missing. */
std::string_view field(resp::Value const& map, std::string_view name)
{
    auto const elements = map.elements();
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2)
        if (elements[i].as_string() == name)
            return elements[i + 1].as_string();
    return {};
}

bool has_flag(std::string_view flags, std::string_view flag)
{
    while (!flags.empty()) {
        auto const comma = std::min(flags.find(','), flags.size());
        if (flags.substr(0, comma) == flag)
            return true;
        flags.remove_prefix(std::min(comma + 1, flags.size()));
    }
    return false;
}

} // namespace

std::optional<ServerAddress> read_master_address(resp::Value const& reply)
{
    auto const parts = reply.elements();
    return parts.size() == 2 ? address_from(parts[0].as_string(), parts[1].as_string()) : std::nullopt;
}

std::optional<MasterReport> read_master(resp::Value const& state, resp::Value const& address)
{
    auto const shown = address_from(field(state, "ip"), field(state, "port"));
    auto const epoch = number_from<std::uint64_t>(field(state, "config-epoch"));
    auto const others = number_from<std::uint16_t>(field(state, "num-other-sentinels"));
    if (!shown || !epoch || !others)
        return std::nullopt;
    auto const named = read_master_address(address);
    MasterReport report;
    report.address = named.value_or(*shown);
    report.config_epoch = *epoch;
    report.sentinels = std::size_t{1} + *others;
    // the flags belong to the address that is shown with them
    if (report.address == *shown) {
        auto const flags = field(state, "flags");
        report.subjectively_down = has_flag(flags, "s_down");
        report.objectively_down = has_flag(flags, "o_down");
    }
    return report;
}

std::vector<SentinelEntry> read_sentinels(resp::Value const& reply, std::size_t most)
{
    std::vector<SentinelEntry> entries;
    for (auto const& element : reply.elements()) {
        if (entries.size() == most)
            break;
        if (auto const address = address_from(field(element, "ip"), field(element, "port")))
            entries.push_back({*address, std::string(field(element, "runid").substr(0, 64))});
    }
    return entries;
}

std::optional<SwitchedMaster> read_switched_master(std::string_view message)
{
    // name, old host, old port, new host, new port
    std::array<std::string_view, 5> words;
    for (auto& word : words) {
        auto const blank = message.find(' ');
        word = message.substr(0, blank);
        message.remove_prefix(std::min(word.size() + 1, message.size()));
    }
    auto const to = address_from(words[3], words[4]);
    if (!to || words[0].empty() || !message.empty())
        return std::nullopt;
    return SwitchedMaster{words[0], *to};
}

} // namespace tenure::redis
