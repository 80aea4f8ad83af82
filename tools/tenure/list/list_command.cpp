// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/holder.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "status/slot_listing.hpp"

#include <tenure/inspection.hpp>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

constexpr std::chrono::seconds answer_limit{10};

CommandHelp list_help()
{
    return {
        .usage = "tenure list [--prefix TEXT] [--limit N] [--json] [OPTIONS]",
        .text = "Shows all leases in the store: slots, locks and elections that are held, kept or in quarantine, with "
                "their holders. Names and sizes of pools need not be known. Keys of other programs are not shown.\n\n"
                "It reads the names of all keys of the store, however few match: on Redis by SCAN, in steps that "
                "delay other clients for less than a millisecond each, and about a second for each million keys. "
                "Then it reads each key whose name matches. Both end after some seconds, or at the limit, and the last "
                "line says so. Ask for the pool or lock itself by status if you know its name.",
        .examples =
            {{"tenure list --prefix shard:", "the leases whose keys begin with shard:"},
             {"tenure list --json", "all of this store, for programs"}},
        .exit_codes = {
            {"0", "shown; there may be none"},
            {"64", "the command line is wrong, or the store cannot list its keys"},
            {"69", "the store cannot be reached or refuses"}}};
}

struct ListSettings {
    StoreSettings store;
    std::string prefix;
    std::uint32_t limit = 10'000;
    bool json = false;
};

/** Slot 2 comes before slot 10. */
auto order_of(std::string const& key)
{
    auto const stem = key.find_last_not_of("0123456789") + 1;
    return std::tuple(key.substr(0, stem), key.size(), key);
}

/** Null: no lease can have this name, which another program chose. */
KeyRangePtr key_named(std::string const& name)
try {
    return named_key(name);
} catch (std::invalid_argument const&) {
    return nullptr;
}

bool is_lease(Holder const& holder) noexcept
{
    switch (holder.kind) {
    case Holder::Kind::worker:
    case Holder::Kind::evicted:
    case Holder::Kind::resting:
    case Holder::Kind::kept:
        return true;
    case Holder::Kind::nobody:
    case Holder::Kind::other_software:
    case Holder::Kind::foreign:
        break;
    }
    return false;
}

/** The leases among the keys, and the keys that could not be read. */
SlotListing leases_of(Store const& store, std::vector<KeyRangePtr> const& keys, KeyLook look)
{
    SlotListing listing{
        .store = store.describe(),
        .ranges = {},
        .states = {},
        .taken_at = std::chrono::system_clock::now(),
        .title = "leases"};
    for (std::size_t position = 0; position < keys.size(); ++position) {
        auto const unread = look.unread.find(position);
        if (unread == look.unread.end() && !is_lease(holder_of(look.states[position])))
            continue;
        if (unread != look.unread.end())
            listing.unread[listing.states.size()] = unread->second;
        listing.ranges.push_back(keys[position]);
        listing.states.push_back(std::move(look.states[position]));
    }
    return listing;
}

/** How far the listing can be trusted to be complete. */
std::string footer(ListSettings const& settings, KeyList const& names)
{
    bool const is_one = names.keys.size() == 1;
    auto text = "looked at " + std::to_string(names.keys.size()) + (is_one ? " key" : " keys");
    if (!settings.prefix.empty())
        text += (is_one ? " that begins with " : " that begin with ") + printable(settings.prefix, 256);
    if (names.more)
        text += "; there are more: name a longer --prefix, or a larger --limit";
    return text;
}

asio::awaitable<int> list(ListSettings const& settings, Store store)
{
    auto listed = co_await store.async_list(settings.prefix, settings.limit, as_result);
    if (auto const error = std::get<0>(listed)) {
        settings.store.report().error(explain(store, error));
        co_return error == boost::system::errc::operation_not_supported ? usage : exit_code_for(error);
    }
    auto& names = std::get<1>(listed);
    std::ranges::sort(names.keys, {}, order_of);
    std::vector<KeyRangePtr> keys;
    for (auto const& name : names.keys)
        if (auto key = key_named(name))
            keys.push_back(std::move(key));
    auto look = co_await look_at_all(store, keys, answer_limit);
    auto const listing = leases_of(store, keys, std::move(look));
    if (settings.json) {
        auto object = json_of(listing);
        object.erase("range");
        object["prefix"] = printable(settings.prefix, 2048);
        object["keys_read"] = names.keys.size();
        object["more"] = names.more;
        std::cout << boost::json::serialize(object) << '\n' << std::flush;
    } else {
        auto const look_of_table =
            TableLook{uses_color(STDOUT_FILENO, settings.store.color), columns_of(STDOUT_FILENO), true};
        std::cout << (listing.states.empty() ? "no leases on " + listing.store + "\n"
                                             : as_table(listing, look_of_table))
                  << footer(settings, names) << '\n'
                  << std::flush;
    }
    co_return listing.unread.empty() ? success : store_failed;
}

} // namespace

Command add_list_command(CLI::App& program)
{
    auto settings = std::make_shared<ListSettings>();
    auto* const options = program.add_subcommand("list", "show all leases in the store");
    describe_command(*options, list_help());
    add_store_options(*options, settings->store);
    options->add_option("--prefix", settings->prefix, "only keys that begin with this text")->type_name("TEXT");
    options->add_option("--limit", settings->limit, "how many keys to look at, 1 to 1048576")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 20));
    options->add_flag("--json", settings->json, "one JSON object, for programs");
    return {options, [settings](Invocation const&) {
                asio::io_context loop(1);
                return run_to_end(loop, list(*settings, settings->store.open_once(loop.get_executor())));
            }};
}

} // namespace tenure::tool
