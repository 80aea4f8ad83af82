// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "output/report.hpp"

#include <tenure/key_range.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** Which store, as which worker, and how much is said: the options that every command has. */
struct StoreSettings {
    std::string url;
    /// if no store is named, the leases live in this user's directory on this machine
    bool may_be_local = false;
    std::string worker;
    int verbosity = 0;
    ColorChoice color = ColorChoice::automatic;

    [[nodiscard]] Report report() const { return Report(verbosity, color); }
    /** Its log lines go to the report. @throws std::invalid_argument if no store is named, or the URL is wrong */
    [[nodiscard]] Store open(asio::any_io_executor executor) const;
    [[nodiscard]] Store open(asio::any_io_executor executor, LogSink log) const;
    /** For a command that asks once and says itself why that failed: log lines are written only with -v. */
    [[nodiscard]] Store open_once(asio::any_io_executor executor) const;
};

/** @param from_environment  the store may also be named by TENURE_STORE */
void add_store_options(CLI::App& command, StoreSettings& settings, bool from_environment = true);

/** Which keys: a pool, a lock, or several locks. */
struct TargetSettings {
    std::string pool = "thread_id_lock:";
    std::uint32_t size = 0;
    /// as they were named on the command line
    std::vector<std::string> locks;

    [[nodiscard]] bool is_lock() const noexcept { return !locks.empty(); }
    /** One range for a pool, and one for each lock.
     *  @throws std::invalid_argument if neither a pool nor a lock was named, or a name cannot be used */
    [[nodiscard]] std::vector<KeyRangePtr> ranges() const;
    /** The same for a command that takes one lock. @throws std::invalid_argument if several were named */
    [[nodiscard]] KeyRangePtr range() const;
};

/** Whether a command takes a pool or locks, or both. */
enum class Targets { apart, together };

/** @param several  the meaning of several `--lock`, for a command that takes several */
void add_target_options(
    CLI::App& command, TargetSettings& settings, std::string const& several = {}, Targets targets = Targets::apart);

/** @param value  milliseconds, also as an optional */
template <class Duration>
void add_duration(CLI::App& command, std::string const& name, Duration& value, std::string const& text);

} // namespace tenure::tool
