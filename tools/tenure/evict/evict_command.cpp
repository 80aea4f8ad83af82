// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/holder.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/style.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp evict_help()
{
    return {
        .usage = "tenure evict (--size N [--pool PREFIX] --slot I | --lock NAME) [--yes] [OPTIONS]",
        .text = "Takes a slot or lock away from its holder. The holder's token is cancelled at its next renewal, and "
                "the key becomes free when the claim's present ttl has passed, so that the holder's validity has "
                "surely ended before any other holder gets it. The holder learns by whom: the name is that of "
                "--worker.\n\n"
                "A key without a holder becomes free at once: the lock of a job that run --window has run, so that it "
                "can run again now, or a slot in quarantine.",
        .examples =
            {{"tenure evict --pool shard: --size 16 --slot 3", "asks first"},
             {"tenure evict --lock nightly --yes --worker admin", "does not ask"},
             {"tenure evict --lock nightly && tenure run --lock nightly --window 1h ./job", "runs the job again now"}},
        .exit_codes = {
            {"0", "evicted, or freed"},
            {"1", "there was nothing to evict, the key is another program's, the holder has changed, or you said no"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses"}}};
}

struct EvictSettings {
    StoreSettings store;
    TargetSettings target;
    std::optional<std::uint32_t> slot;
    bool yes = false;

    /** The index within the range. @throws std::invalid_argument */
    [[nodiscard]] std::uint32_t index(KeyRange const& range) const
    {
        if (target.is_lock())
            return 0;
        if (!slot)
            throw std::invalid_argument("which slot? Name it by --slot I");
        if (*slot >= range.count)
            throw std::invalid_argument(
                "--slot: " + std::to_string(*slot) + " is not below the pool's size, " + std::to_string(range.count));
        return *slot;
    }
};

/** Writes the text, on a terminal in lines that fit. */
void print(std::string const& text)
{
    auto const columns = columns_of(STDOUT_FILENO);
    std::cout << (columns == 0 ? text + "\n" : indented(wrapped(text, columns), 0)) << std::flush;
}

bool agrees(std::string const& question)
{
    if (::isatty(STDIN_FILENO) == 0)
        throw std::invalid_argument("no terminal to confirm on: give --yes to evict without a question");
    std::cout << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

/** The message if there is nothing to evict. */
std::optional<std::string> objection(std::string const& key, Holder const& holder, KeyState const& state)
{
    if (state.kind == KeyState::Kind::foreign && state.remaining)
        return key +
               " is held by another program, whose value is not a string (Redisson's locks are such). It becomes free "
               "in " +
               describe(*state.remaining) + " unless that program renews it: release it there";
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return key + " is free";
    case Holder::Kind::evicted:
        return key + " has been evicted by " + holder.name + " already, and becomes free in " +
               describe(state.remaining.value_or(std::chrono::milliseconds{0}));
    case Holder::Kind::foreign:
        return key + " bears no lease: it never expires. Find out whose it is, and delete it there";
    case Holder::Kind::worker:
    case Holder::Kind::other_software:
    case Holder::Kind::resting:
    case Holder::Kind::kept:
        break;
    }
    return std::nullopt;
}

/** A key and what is done with it. */
struct Subject {
    std::string key;
    Holder holder;
    KeyState state;

    [[nodiscard]] bool has_no_holder() const noexcept
    {
        return holder.kind == Holder::Kind::kept || holder.kind == Holder::Kind::resting;
    }
    [[nodiscard]] std::string describe() const
    {
        if (!has_no_holder())
            return key + " is held by " + tool::describe(holder) +
                   (state.held_for ? " for " + tool::describe(*state.held_for) : "");
        auto const left = tool::describe(state.remaining.value_or(std::chrono::milliseconds{0}));
        auto const last = holder.name.empty() ? "" : " by " + holder.name;
        return holder.kind == Holder::Kind::kept
                   ? key + " has no holder: it was left to expire" + last + ", and becomes free in " + left
                   : key + " has no holder: it was released" + last + ", and is in quarantine for " + left;
    }
    [[nodiscard]] std::string question() const
    {
        if (!has_no_holder())
            return "take it away?";
        return holder.kind == Holder::Kind::kept ? "free it, so that its job can run again now?"
                                                 : "end the quarantine? Work of the last holder may still be under way";
    }
};

int failed(EvictSettings const& settings, Store const& store, Subject const& subject, error_code error)
{
    if (error == errc::lease_lost) {
        print(subject.key + " has another holder by now, or none: nothing was changed");
        return attention;
    }
    settings.store.report().error(explain(store, error));
    return error == errc::key_conflict ? attention : exit_code_for(error);
}

asio::awaitable<int> evict(EvictSettings const& settings, Store store, KeyRangePtr range, std::uint32_t index)
{
    auto looked = co_await store.async_inspect(range, as_result);
    auto const& states = std::get<1>(looked);
    if (auto const error = std::get<0>(looked)) {
        settings.store.report().error(explain(store, error));
        co_return exit_code_for(error);
    }
    print(store.describe());
    auto subject = Subject{range->key(index), holder_of(states.at(index)), states.at(index)};
    if (auto const text = objection(subject.key, subject.holder, subject.state)) {
        print(*text);
        co_return attention;
    }
    print(subject.describe());
    if (!settings.yes && !agrees(subject.question()))
        co_return attention;
    if (subject.has_no_holder()) {
        auto const result = co_await store.async_free(subject.state, as_result);
        auto const error = std::get<0>(result);
        if (error)
            co_return failed(settings, store, subject, error);
        print("freed: " + subject.key + " can be acquired now");
        co_return success;
    }
    auto const result = co_await store.async_evict(subject.state, store.worker_name(), as_result);
    auto const error = std::get<0>(result);
    if (error)
        co_return failed(settings, store, subject, error);
    print("evicted: " + subject.key + " becomes free in " + describe(std::get<1>(result)));
    co_return success;
}

} // namespace

Command add_evict_command(CLI::App& program)
{
    auto settings = std::make_shared<EvictSettings>();
    auto* const options = program.add_subcommand("evict", "take a slot or lock away, or free one that is kept");
    describe_command(*options, evict_help());
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target);
    options->add_option("--slot", settings->slot, "which slot of the pool")->type_name("I");
    options->add_flag("--yes,-y", settings->yes, "do not ask");
    auto run = [settings](Invocation const&) {
        auto const range = settings->target.range();
        auto const index = settings->index(*range);
        asio::io_context loop(1);
        return run_to_end(loop, evict(*settings, settings->store.open_once(loop.get_executor()), range, index));
    };
    return {options, run};
}

} // namespace tenure::tool
