// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/settings.hpp"

#include "command_line/option_list.hpp"
#include "output/time_text.hpp"

#include <tenure/open_store.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

/** True if nothing says that this program should share its leases with other machines: no variable names a store, not
 *  even an empty one that was forgotten, and no cluster runs it on one of many machines. */
bool is_meant_for_this_machine()
{
    return std::getenv("TENURE_STORE") == nullptr && std::getenv("KUBERNETES_SERVICE_HOST") == nullptr;
}

} // namespace

Store StoreSettings::open(asio::any_io_executor executor) const
{
    return open(std::move(executor), report().sink());
}

Store StoreSettings::open(asio::any_io_executor executor, LogSink log) const
{
    bool const is_local = url.empty() && may_be_local && is_meant_for_this_machine();
    if (url.empty() && !is_local)
        throw std::invalid_argument("which store? Name it by --store URL, or in the variable TENURE_STORE");
    StoreOptions options;
    options.worker_name = worker;
    options.log = std::move(log);
    options.log_level = report().level();
    auto store = open_store(std::move(executor), is_local ? "file:" : url, std::move(options));
    if (is_local)
        report().say(
            "no store named: this lock holds on this machine only, in " + store.describe() +
            "; name a store, or --store file:, to drop this line");
    return store;
}

Store StoreSettings::open_once(asio::any_io_executor executor) const
{
    return verbosity > 0 ? open(std::move(executor)) : open(std::move(executor), silent_log_sink());
}

void add_store_options(CLI::App& command, StoreSettings& settings, bool from_environment)
{
    auto* const url = command.add_option(
        "--store,-s", settings.url,
        "where the leases live, e.g. redis://user:password@host:6379/0, or redis+sentinel://host,host/master. A "
        "password is safer in the environment than "
        "here, where every user of the machine can read it");
    url->type_name("URL")->group(common_options_group);
    if (from_environment)
        url->envname("TENURE_STORE");
    command.add_option("--worker", settings.worker, "the name others see as the holder (default: host:pid)")
        ->type_name("NAME")
        ->group(common_options_group);
    command
        .add_flag("-v,--verbose", settings.verbosity, "say more on standard error; twice: debug, thrice: everything")
        ->group(common_options_group);
    auto const choose_color = [&settings](std::string const& choice) {
        settings.color = choice == "always"  ? ColorChoice::always
                         : choice == "never" ? ColorChoice::never
                                             : ColorChoice::automatic;
    };
    command
        .add_option_function<std::string>(
            "--color", choose_color,
            "colours: auto has them on a terminal, unless the variable NO_COLOR is set (default: auto)")
        ->type_name("auto|always|never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->group(common_options_group);
}

std::vector<KeyRangePtr> TargetSettings::ranges() const
{
    std::vector<KeyRangePtr> result;
    for (auto const& lock : locks) {
        check_key("--lock", lock);
        result.push_back(named_key(lock));
    }
    if (is_lock())
        return result;
    check_key("--pool", pool);
    if (size == 0)
        throw std::invalid_argument(
            "which keys? Name a pool by --size N (and --pool PREFIX), or a lock by --lock NAME");
    result.push_back(numbered_keys(pool, size));
    return result;
}

KeyRangePtr TargetSettings::range() const
{
    if (locks.size() > 1)
        throw std::invalid_argument("--lock: this command takes one lock: call it once for each");
    return ranges().front();
}

void add_target_options(CLI::App& command, TargetSettings& settings, std::string const& several, Targets targets)
{
    auto* const pool = command.add_option(
        "--pool", settings.pool,
        "the pool's prefix: slot I is the key PREFIX followed by I. Programs with one prefix share one pool, so name "
        "one "
        "for each service");
    pool->type_name("PREFIX")->capture_default_str();
    auto* const size = command.add_option("--size", settings.size, "how many slots the pool has, 1 to 1048576");
    size->type_name("N")->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 20));
    auto const apart = targets == Targets::apart ? std::string(" instead of a pool") : std::string();
    auto const text =
        several.empty() ? "one lock" + apart + ": the key NAME" : "a lock" + apart + ": the key NAME; " + several;
    auto* const lock = command.add_option("--lock", settings.locks, text);
    // one name to each --lock: further words are the command's
    lock->type_name("NAME")->allow_extra_args(false);
    if (targets == Targets::apart)
        lock->excludes(pool)->excludes(size);
}

template <class Duration>
void add_duration(CLI::App& command, std::string const& name, Duration& value, std::string const& text)
{
    auto const parse = [name, &value](std::string const& given) {
        auto const duration = parse_duration(given);
        if (!duration)
            throw CLI::ValidationError(
                name, "'" + given + "' is no duration: give a whole number and a unit, like 500ms, 5s, 2m or 1h");
        value = *duration;
    };
    command.add_option_function<std::string>(name, parse, text)->type_name("DURATION");
}

using std::chrono::milliseconds;
template void add_duration(CLI::App&, std::string const&, milliseconds&, std::string const&);
template void add_duration(CLI::App&, std::string const&, std::optional<milliseconds>&, std::string const&);

} // namespace tenure::tool
